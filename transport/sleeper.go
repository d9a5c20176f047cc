package transport

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ChannelSleeper is the Sleeper of a rank that shares its process with the ranks that ring it. Its
// goroutines sleep on a channel. The zero value is ready for use. A ChannelSleeper must not be
// copied.
type ChannelSleeper struct {
	// generation counts the calls of Ring. A ticket is the value of generation at Prepare.
	generation atomic.Uint32
	// mu guards rung and makes the comparison of the ticket and the creation of rung atomic with
	// respect to Ring. No other lock is taken while mu is held.
	mu sync.Mutex
	// rung is the channel that the next Ring closes. It is nil if no goroutine has begun to sleep
	// since the last Ring.
	rung chan struct{}
}

var _ Sleeper = (*ChannelSleeper)(nil)

// Yield implements Sleeper.
func (s *ChannelSleeper) Yield() { goruntime.Gosched() }

// Prepare implements Sleeper.
func (s *ChannelSleeper) Prepare() uint32 { return s.generation.Load() }

// Sleep implements Sleeper.
func (s *ChannelSleeper) Sleep(ticket uint32, nanos int64) {
	s.mu.Lock()
	if s.generation.Load() != ticket {
		s.mu.Unlock()
		return
	}
	if s.rung == nil {
		s.rung = make(chan struct{})
	}
	rung := s.rung
	s.mu.Unlock()
	if nanos < 0 {
		<-rung
		return
	}
	timer := time.NewTimer(time.Duration(nanos))
	defer timer.Stop()
	select {
	case <-rung:
	case <-timer.C:
	}
}

// Idle implements Sleeper. It is the same as Sleep, because a goroutine that blocks on a channel
// holds no processor of Go's scheduler.
func (s *ChannelSleeper) Idle(ticket uint32, nanos int64) { s.Sleep(ticket, nanos) }

// Ring implements Sleeper.
func (s *ChannelSleeper) Ring() {
	s.mu.Lock()
	s.generation.Add(1)
	if s.rung != nil {
		close(s.rung)
		s.rung = nil
	}
	s.mu.Unlock()
}

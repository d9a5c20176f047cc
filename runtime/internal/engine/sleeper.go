package engine

import (
	goruntime "runtime"
	"sync"
	"time"
)

// channelSleeper is the Sleeper of an engine without one: goroutines only.
type channelSleeper struct {
	mu   sync.Mutex // guards the fields
	ring chan struct{}
	seq  uint32
}

func newChannelSleeper() *channelSleeper {
	return &channelSleeper{ring: make(chan struct{})}
}

// Yield implements transport.Sleeper.
func (s *channelSleeper) Yield() { goruntime.Gosched() }

// Prepare implements transport.Sleeper.
func (s *channelSleeper) Prepare() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// Sleep implements transport.Sleeper.
func (s *channelSleeper) Sleep(ticket uint32, nanos int64) {
	s.mu.Lock()
	ring, rung := s.ring, s.seq != ticket
	s.mu.Unlock()
	if rung {
		return
	}
	if nanos < 0 {
		<-ring
		return
	}
	timer := time.NewTimer(time.Duration(nanos))
	defer timer.Stop()
	select {
	case <-ring:
	case <-timer.C:
	}
}

// Ring implements transport.Sleeper.
func (s *channelSleeper) Ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	close(s.ring)
	s.ring = make(chan struct{})
}

package transporttest

import (
	goruntime "runtime"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// fakeSleeper parks goroutines on a channel.
type fakeSleeper struct {
	// mu guards the fields below. Nothing is locked under it.
	mu sync.Mutex
	// rings counts the calls of Ring; a ticket is its value at Prepare.
	rings uint32
	// rung is closed by the next Ring; nil while nobody sleeps.
	rung chan struct{}
}

var _ transport.Sleeper = (*fakeSleeper)(nil)

func newFakeSleeper() *fakeSleeper { return &fakeSleeper{} }

// Yield implements transport.Sleeper.
func (s *fakeSleeper) Yield() { goruntime.Gosched() }

// Prepare implements transport.Sleeper.
func (s *fakeSleeper) Prepare() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rings
}

// Sleep implements transport.Sleeper.
func (s *fakeSleeper) Sleep(ticket uint32, nanos int64) {
	s.mu.Lock()
	if s.rings != ticket {
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

// Ring implements transport.Sleeper.
func (s *fakeSleeper) Ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rings++
	if s.rung != nil {
		close(s.rung)
		s.rung = nil
	}
}

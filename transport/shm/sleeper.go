package shm

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// bell is a Sleeper of any rank of the node, seen by whoever rings it.
type bell interface {
	transport.Sleeper
}

// localSleeper is the Sleeper of a rank that shares its process with the others.
type localSleeper struct {
	// generation counts the rings.
	generation atomic.Uint32
	// mu guards rung and orders its making against the rings.
	mu sync.Mutex
	// rung is closed by the next Ring; nil when nobody sleeps.
	rung chan struct{}
}

var _ transport.Sleeper = (*localSleeper)(nil)

// Yield implements transport.Sleeper.
func (s *localSleeper) Yield() { goruntime.Gosched() }

// Prepare implements transport.Sleeper.
func (s *localSleeper) Prepare() uint32 { return s.generation.Load() }

// Sleep implements transport.Sleeper.
func (s *localSleeper) Sleep(ticket uint32, nanos int64) {
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
	t := time.NewTimer(time.Duration(nanos))
	defer t.Stop()
	select {
	case <-rung:
	case <-t.C:
	}
}

// Ring implements transport.Sleeper.
func (s *localSleeper) Ring() {
	s.mu.Lock()
	s.generation.Add(1)
	if s.rung != nil {
		close(s.rung)
		s.rung = nil
	}
	s.mu.Unlock()
}

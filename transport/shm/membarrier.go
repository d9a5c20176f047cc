package shm

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
)

// barriers is the registration of this process. It waits for a grace period of
// the kernel, 5 ms and more, so it goes on beside the start of the rank; until it has
// ended this rank and its peers use fences.
var barriers = &registration{ended: make(chan struct{})}

type registration struct {
	once  sync.Once
	ready atomic.Bool
	ended chan struct{} // closed when ready is final
}

// start registers the process, once. It yields, so that the system call begins now: later,
// on the only processor of a rank that computes or polls, it would take that processor away
// in the middle of the program, for several milliseconds.
func (r *registration) start() {
	r.once.Do(func() {
		go func() {
			defer close(r.ended)
			r.ready.Store(registerBarrier())
		}()
		goruntime.Gosched()
	})
}

// Settle waits until the registration has ended, so that messages are published without
// fences from the first one on: a fence waits until the line of the message before has
// come back from the reader, which costs a sixth of the rate. It is called before the
// peers are told that this rank is there, and before the first Poll.
func (t *Transport) Settle() {
	if t.node.locals != nil || t.cfg.DisableMembarrier || t.cfg.Alone {
		return
	}
	<-barriers.ended
	t.relax()
	t.settled.Store(!t.fences)
}

// relax goes from fences to barriers as soon as they can be had, here and at the
// peers. Our own barriers come first: a peer that sees the word of our state
// change relies on them.
func (t *Transport) relax() {
	if t.fences && t.node.locals == nil && !t.cfg.DisableMembarrier && barriers.ready.Load() {
		t.fences = false
		atomic.StoreUint64(t.control.word(offState), stateRunning)
	}
	if t.fences {
		return
	}
	for _, e := range t.endpoints {
		if e != nil && e.introduced && e.inbox.fence {
			e.inbox.fence = atomic.LoadUint64(e.control.word(offState))&stateFences != 0
			e.ring.fence = e.inbox.fence
		}
	}
	for _, l := range t.rings {
		l.fence = t.endpoint(l.slot).inbox.fence
	}
}

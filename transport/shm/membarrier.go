package shm

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
)

// barriers is the registration of this process for membarrier(2). The registration waits for a
// grace period of the kernel, 5 ms or more, so it runs concurrently with the start of the rank.
// Until the registration has ended, this rank and its peers use memory fences.
var barriers = &registration{ended: make(chan struct{})}

type registration struct {
	once  sync.Once
	ready atomic.Bool
	ended chan struct{} // closed when ready has its final value
}

// start registers the process, once. It yields the processor, so that the goroutine with the system call begins
// during the start of the rank. Otherwise, on a single processor, the call would begin when Go's scheduler preempts
// the program, and take the processor from the running program for several milliseconds.
func (r *registration) start() {
	r.once.Do(func() {
		go func() {
			defer close(r.ended)
			r.ready.Store(registerBarrier())
		}()
		goruntime.Gosched()
	})
}

// Settle waits until the registration has ended. If it has succeeded, even the first message is published
// without a fence. A fence waits until the cache line of the previous message has come back from
// the reader, which costs a sixth of the message rate. Settle is called before the peers learn that
// this rank has joined, and before the first Poll.
func (t *Transport) Settle() {
	if t.node.locals != nil || t.cfg.DisableMembarrier || t.cfg.Alone {
		return
	}
	<-barriers.ended
	t.relax()
	t.settled.Store(!t.fences)
}

// relax ends the use of memory fences toward each peer for which membarrier(2) suffices, that is, if membarrier
// works both in this rank and in that peer. The barriers of this rank must work before its state loses stateFences,
// because a peer that sees the state without stateFences relies on these barriers.
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

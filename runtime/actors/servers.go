package actors

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// serversTotal is how many goroutines serve in turn.
const serversTotal = 2

// servers are two goroutines, of which one serves: it takes what arrives and runs
// inline actors. When one actor on a worker gets a message it leaves the serving to
// the other, which has not to run for that, and runs the actor itself: as leaders and
// followers do (Schmidt and others, 2000). To wake a worker and give way to it would
// be one change of goroutines more before the actor runs, a third of what a request
// to it takes. While the other one is still at an actor, workers run all that come.
type servers struct {
	s *System
	// turn has a value for the next that serves. It is closed when the engine has
	// ended, and ended is.
	turn  chan struct{}
	ended chan struct{}
	// resting is how many wait for their turn.
	resting atomic.Int32
}

// start starts the goroutines.
func (v *servers) start(s *System) {
	v.s, v.turn, v.ended = s, make(chan struct{}, 1), make(chan struct{})
	v.turn <- struct{}{}
	for range serversTotal {
		go s.world.Guard(v.run)
	}
}

// relieved reports whether the serving goroutine, which calls it, may leave.
func (v *servers) relieved() bool { return v.resting.Load() > 0 }

// run is one of the goroutines.
func (v *servers) run() {
	p, me := &v.s.inbound, &worker{}
	ready, work := p.ready, p.work // once, for they are allocated
	v.s.workers.enter(me)
	defer v.s.workers.leave()
	for {
		v.resting.Add(1)
		_, ok := <-v.turn
		v.resting.Add(-1)
		if !ok {
			return
		}
		p.goroutine.Store(engine.Goroutine())
		err := v.s.engine.Serve(ready, work)
		p.goroutine.Store(0)
		if err != nil { // the engine has ended, or the job
			v.s.unanswered(err, func(openRequest) bool { return true })
			close(v.turn)
			close(v.ended)
			return
		}
		own := p.next
		p.next = nil
		v.turn <- struct{}{}
		v.s.workers.host(me, own)
	}
}

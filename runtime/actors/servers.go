package actors

import (
	"errors"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// serversTotal is the number of goroutines that serve in turn.
const serversTotal = 2

// servers are two goroutines, of which one serves: it takes the arrivals and runs inline actors.
// If the arrivals are for a single actor of a worker, it passes the role to the other goroutine
// and runs the actor itself (leader/followers, Schmidt and others, 2000). The other goroutine
// does not have to run before that. Waking a worker and yielding to it would be one more
// goroutine switch before the actor runs, a third of the time of a request. While the other
// goroutine still runs an actor, workers run all actors.
type servers struct {
	s *System
	// turn has a value when the next goroutine may serve. turn and ended are closed when the
	// engine has ended.
	turn  chan struct{}
	ended chan struct{}
	// resting is the number of goroutines that wait for their turn.
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

// relieved reports whether the other goroutine waits, so that the serving one, which calls it,
// may leave Serve.
func (v *servers) relieved() bool { return v.resting.Load() > 0 }

// run is one of the goroutines.
func (v *servers) run() {
	p, me := &v.s.inbound, &worker{}
	ready, work := p.ready, p.work // once: a method value is an allocation
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
			v.s.over(err)
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

// over ends what waits for other ranks, because the engine has ended with err. If that is the loss of
// a rank after which the job goes on in another World, watchers of actors of all other ranks, which end,
// too, are told.
func (s *System) over(err error) {
	if _, renewed := errors.AsType[*runtime.PeerError](err); renewed {
		for rank := range s.Size() {
			if rank != s.Rank() {
				s.lost(rank, err)
			}
		}
		defer s.endFutures() // an actor of this rank may wait for another rank before it answers
	}
	s.unanswered(err, func(openRequest) bool { return true })
}

package actors

import (
	"errors"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// serversTotal is the number of goroutines that take turns in serving.
const serversTotal = 2

// servers is a pair of goroutines. One of them is the serving goroutine: it delivers the arrivals and
// runs inline actors. If the arrivals are for a single actor of a worker, the serving goroutine
// passes its role to the other goroutine. Then it runs the actor itself, without waiting until the
// other goroutine runs (leader/followers, Schmidt and others, 2000). The alternative is to wake a
// worker and to yield to it. The alternative would add a goroutine switch before the actor runs, and
// a goroutine switch takes a third of the time of a request. While the other goroutine is still
// running an actor, the role cannot be passed. During this time workers run all actors that are not
// inline.
type servers struct {
	s *System
	// turn contains a value while a goroutine may begin to serve. When the engine has ended, turn and
	// ended are closed.
	turn  chan struct{}
	ended chan struct{}
	// resting is the number of goroutines that wait for a value of turn.
	resting atomic.Int32
}

// start starts the two goroutines.
func (v *servers) start(s *System) {
	v.s, v.turn, v.ended = s, make(chan struct{}, 1), make(chan struct{})
	v.turn <- struct{}{}
	for range serversTotal {
		go s.world.Guard(v.run)
	}
}

// relieved is called by the serving goroutine. It reports whether the other goroutine waits for its
// turn, so that the serving goroutine may leave Serve.
func (v *servers) relieved() bool { return v.resting.Load() > 0 }

// run is the function of each of the two goroutines.
func (v *servers) run() {
	p, me := &v.s.inbound, &worker{}
	ready, work := p.ready, p.work // outside the loop, because evaluating a method value allocates memory
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
		if err != nil { // the engine or the job has ended
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

// over ends all waits for other ranks and for space in mailboxes, because the engine has ended with
// err. If err is a PeerError, a rank was lost, and the job goes on in another World. The actors of all
// other ranks end with this World, so their watchers get Terminated.
func (s *System) over(err error) {
	s.ended.Store(&err)
	s.boxes.Range(func(_, m any) bool { m.(*mailbox).wakeSenders(); return true })
	if _, renewed := errors.AsType[*runtime.PeerError](err); renewed {
		for rank := range s.Size() {
			if rank != s.Rank() {
				s.lost(rank, err)
			}
		}
		defer s.endFutures() // deferred, because an actor of this rank may wait for another rank before it answers
	}
	s.unanswered(err, func(openRequest) bool { return true })
}

package actors

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// serversTotal is the number of goroutines that take turns in serving.
const serversTotal = 2

// servers is a pair of goroutines. One of them is the serving goroutine: it delivers the arrivals and
// runs inline actors. If the arrivals are for a single actor that is not inline, the serving goroutine
// passes its role to the other goroutine. Then it runs the actor itself, without waiting until the
// other goroutine runs (leader/followers, Schmidt and others, 2000). The alternative is to wake a
// worker and to yield to it. The alternative would add a goroutine switch before the actor runs, and
// a goroutine switch takes a third of the time of a request. While the other goroutine is still
// running an actor, the role cannot be passed. During this time workers run all other actors that are
// not inline.
//
// When the engine has ended, there are no more arrivals. From then on, one of the two goroutines executes
// deferred tasks until the System is closed.
type servers struct {
	s *System
	// turn contains a value while a goroutine may begin to serve.
	turn chan struct{}
	// ended is closed when the engine has ended and System.over has ended the waits for other ranks.
	// The method close closes stop.
	ended, stop chan struct{}
	// resting is the number of goroutines that wait for a value of turn.
	resting atomic.Int32
	// finished makes only the first call of finish effective.
	finished sync.Once
}

// errServing is the error with which the waits for other ranks end if an unrecovered panic or
// runtime.Goexit ends the serving goroutine.
var errServing = errors.New("the goroutine that delivers the messages of actors was ended by a panic or by runtime.Goexit")

// start starts the two goroutines.
func (v *servers) start(s *System) {
	v.s, v.turn, v.ended, v.stop = s, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
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
	ready, arrived, work := p.ready, p.arrived, p.work // outside the loop, because evaluating a method value allocates memory
	v.s.workers.enter(me)
	defer v.s.workers.leave()
	for {
		v.resting.Add(1)
		<-v.turn
		v.resting.Add(-1)
		if v.s.ended.Load() != nil {
			v.serveTasks()
			return
		}
		if v.serve(ready, arrived, work) {
			own := p.next
			p.next = nil
			v.turn <- struct{}{}
			v.s.workers.host(me, own)
		}
	}
}

// serve serves until this goroutine has to run the actor in inbound.next. Then it returns true. If the engine
// ends, serve passes the role on and returns false.
func (v *servers) serve(ready, arrived func() bool, work func() engine.Next) (leaves bool) {
	p := &v.s.inbound
	served := false
	defer func() {
		if !served {
			p.goroutine.Store(0)
			// If the rank is a process of its own, a panic ends the process. Otherwise, another goroutine runs
			// finish, because this one may hold locks that finish needs.
			go v.finish(errServing)
		}
	}()
	p.goroutine.Store(engine.Goroutine())
	err := v.s.engine.Serve(ready, arrived, work)
	served = true
	p.goroutine.Store(0)
	if err != nil {
		v.finish(err)
	}
	return err == nil
}

// finish ends the waits for other ranks, and lets a goroutine serve deferred tasks. A second call has no effect.
func (v *servers) finish(err error) {
	v.finished.Do(func() {
		v.s.over(err)
		close(v.ended)
		v.turn <- struct{}{}
	})
}

// close ends both goroutines. The serving goroutine cannot end before the code of the program that it runs returns;
// in most cases this code is the handler of an inline actor. After closeTime, close reports this actor and waits no
// longer. Then another goroutine runs finish.
func (v *servers) close() {
	select {
	case <-v.ended:
		close(v.stop)
	case <-time.After(closeTime):
		var who *actor.PID
		if m := v.s.stallDetector.present(v.s); m != nil {
			who = m.pid
		}
		v.s.cfg.Logger.Error("the World ends although an inline actor or other code on the goroutine that delivers messages does not return",
			"rank", v.s.Rank(), "actor", name(who), "after", closeTime)
		close(v.stop) // before finish, so that no other goroutine runs inline actors meanwhile
		go v.finish(v.s.engine.Query(func() {}))
	}
}

// serveTasks executes deferred tasks until the System is closed. If a panic or runtime.Goexit ends this
// goroutine, the other goroutine continues. When the System is closed, the other goroutine gets the turn,
// too, and ends.
func (v *servers) serveTasks() {
	defer func() { v.turn <- struct{}{} }()
	v.s.inbound.serveTasks(v.stop)
}

// over ends all waits for other ranks and for space in mailboxes, because the engine has ended with
// err. If err is a PeerError, a rank was lost, and the job goes on in another World. The actors of all
// other ranks end with this World, so their watchers get Terminated. They also get Terminated after any other
// error, for example if the job was aborted, but not if this rank has closed the World.
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
	} else if !errors.Is(err, runtime.ErrClosed) {
		s.endAllWatches()
	}
	s.drainAll()
	s.unanswered(err, func(openRequest) bool { return true })
}

package rdma

import (
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/registry"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// supervisorID is the id of the supervisor's actor. The ids of the peers' actors begin with it.
const supervisorID = "$rdma"

// connectorName returns the name of a peer's actor below the supervisor.
func connectorName(peer int) string { return fmt.Sprintf("rank%d", peer) }

// supervision holds the actors of connections: a supervisor, and as its children one actor for each
// peer for which there was an event, for example because a connection was wanted or requested. The
// first call of send makes the supervisor, in an actor system that the program's own actors may share
// (Transport.ActorSystem).
// The methods of supervision are called under the engine's lock.
type supervision struct {
	t      *Transport
	system *actor.ActorSystem
	// root is the context in which this package sends messages. It has no middleware, unlike system.Root, in
	// which the program may set middleware at any time.
	root       *actor.RootContext
	supervisor *actor.PID
	log        switchboard
	struck     bool
	// turns is the number of Polls, from the next one on, that yield the processor to the actors.
	turns int
}

// yieldTurns is the number of Polls that yield after a message to the supervisor. The first of them
// lets the supervisor run. The second lets the actor of the peer run if the supervisor has run on
// another processor.
const yieldTurns = 2

// quiet is embedded in messages that may be sent to an actor after its end. protoactor does not log
// such messages as dead letters.
type quiet struct{}

// IgnoreDeadLetterLogging implements actor.IgnoreDeadLetterLogging.
func (quiet) IgnoreDeadLetterLogging() {}

// The messages to the supervisor.
type (
	// notice is an event for the peering.Machine of a peer.
	notice struct {
		quiet
		peer  int
		event peering.Event
	}
	// answered reports that the peer has accepted the request of a link. data is the private data
	// of its reply.
	answered struct {
		link *link
		data []byte
	}
	// rejected reports that the peer has rejected the request of a link. data is the private data
	// of the reject.
	rejected struct {
		link *link
		data []byte
		err  error
	}
	// requested is a connection request whose record was verified. The supervisor forwards it to
	// the actor of the peer as invited.
	requested struct{ link *link }
	invited   struct{ link *link }
	// ending reports that this rank closes its transport. finishing reports that the actor of a
	// peer has finished because this rank closes.
	ending    struct{ quiet }
	finishing struct{ peer int }
)

// open returns the actor system. It makes the actor system if there is none.
func (s *supervision) open() *actor.ActorSystem {
	if s.system == nil {
		s.system = registry.NewSystem(slog.New(&s.log))
		if s.t.config.ActorAddress != "" {
			s.system.ProcessRegistry.Address = s.t.config.ActorAddress
		}
		s.root = actor.NewRootContext(s.system, nil)
	}
	return s.system
}

// send sends a message to the supervisor. The first call makes the supervisor.
func (s *supervision) send(message any) {
	if s.struck {
		return
	}
	if s.supervisor == nil {
		s.open()
		d := &supervisor{t: s.t, connectors: map[int]*actor.PID{}, ranks: map[string]int{}, failures: map[string]error{}, ended: map[int]bool{}, finished: map[int]bool{}}
		var err error
		if s.supervisor, err = s.root.SpawnNamed(actor.PropsFromFunc(d.Receive, actor.WithSupervisor(d)), supervisorID); err != nil {
			panic(fmt.Sprintf("rdma: spawn %s: %v", supervisorID, err)) // another actor has the id
		}
	}
	s.root.Send(s.supervisor, message)
	s.turns = yieldTurns
}

// yield yields the processor, so that actors that have received a message can run. A poller also
// yields by itself, but only after some dozens of polls. This delay would cost 50 microseconds at
// each of the five steps to a connection. The engine's lock stays held during the yield, because
// actors do not need it for their decisions.
func (s *supervision) yield() {
	if s.turns > 0 {
		s.turns--
		goruntime.Gosched()
	}
}

// stop stops the actors of connections and shuts the actor system down.
func (s *supervision) stop() error {
	s.struck = true
	if s.system == nil {
		return nil
	}
	var err error
	if s.supervisor != nil {
		err = s.root.StopFuture(s.supervisor).Wait()
	}
	s.system.Shutdown()
	if err != nil {
		return fmt.Errorf("stop the actors of connections: %w", err)
	}
	return nil
}

// tell sends an event to the machine of a peer.
func (t *Transport) tell(peer int, e peering.Event) { t.supervision.send(notice{peer: peer, event: e}) }

// after sends a message to the actor after a duration.
func (a *connector) after(c actor.Context, d time.Duration, message any) *time.Timer {
	root, self := a.t.supervision.root, c.Self()
	return time.AfterFunc(d, func() { root.Send(self, message) })
}

// supervisor starts an actor for each peer, forwards the peer's events to it, and supervises it.
type supervisor struct {
	t          *Transport
	connectors map[int]*actor.PID
	// ranks has the peer of each actor, and failures the error of each failed actor, by the id of
	// the actor. ended has the peers whose actors have ended.
	ranks    map[string]int
	failures map[string]error
	ended    map[int]bool
	ending   bool
	// finished has the peers whose actors have finished because this rank closes, or have ended.
	finished map[int]bool
	// stopping is true after the supervisor was told to stop, and with it all its actors. Nothing would
	// stop an actor that is started later.
	stopping bool
}

// Receive implements actor.Actor.
func (d *supervisor) Receive(c actor.Context) {
	if d.stopping {
		return // requests still arrive, but Poll executes no commands any more
	}
	switch m := c.Message().(type) {
	case notice:
		c.Send(d.actor(c, m.peer), m)
	case answered:
		c.Send(d.actor(c, m.link.peer), m)
	case rejected:
		c.Send(d.actor(c, m.link.peer), m)
	case errandEnded:
		c.Send(d.actor(c, m.link.peer), m)
	case sideWanted:
		c.Send(d.actor(c, m.peer), m)
	case revived:
		for _, pid := range d.connectors {
			c.Send(pid, m)
		}
	case requested:
		d.request(c, m.link)
	case finishing:
		d.finish(m.peer)
	case ending:
		d.ending = true
		for peer, pid := range d.connectors {
			c.Send(pid, notice{peer: peer, event: peering.Event{Kind: peering.Shutdown}})
		}
		d.leave()
	case *actor.Terminated:
		d.terminated(m.Who.Id)
	case *actor.Stopping:
		d.stopping = true
	}
}

// actor returns the actor of a peer. It starts the actor if there is none.
func (d *supervisor) actor(c actor.Context, peer int) *actor.PID {
	pid := d.connectors[peer]
	if pid == nil {
		a := newConnector(d.t, peer)
		pid = d.spawn(c, a)
		c.Watch(pid)
		d.connectors[peer], d.ranks[pid.Id] = pid, peer
		if d.ending {
			c.Send(pid, notice{peer: peer, event: peering.Event{Kind: peering.Shutdown}})
		}
	}
	return pid
}

// spawn starts the actor of a peer.
func (d *supervisor) spawn(c actor.Context, a *connector) *actor.PID {
	pid, err := c.SpawnNamed(actor.PropsFromFunc(a.Receive), connectorName(a.peer))
	if err != nil {
		return c.Spawn(actor.PropsFromFunc(a.Receive)) // another actor has the name
	}
	return pid
}

// finish records that the actor of a peer has finished or ended. An actor that has finished may end before the
// supervisor stops it.
func (d *supervisor) finish(peer int) {
	d.finished[peer] = true
	d.leave()
}

// leave lets Close continue if this rank is closing and every actor has finished or ended.
func (d *supervisor) leave() {
	if d.ending && len(d.finished) == len(d.connectors) {
		d.t.command(func() { d.t.over = true })
	}
}

var errStopped = errors.New("the actor of its connection was stopped")

// HandleFailure implements actor.SupervisorStrategy. It stops an actor that has failed. Then the
// peer of the actor is lost.
func (d *supervisor) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	d.failures[child.Id] = fmt.Errorf("the actor of its connection failed: %v", reason)
	s.StopChildren(child)
}

// terminated handles the end of an actor: its peer is lost. An actor that has not failed was either
// stopped through its PID, or ends with the supervisor. When the supervisor ends, Poll executes no
// commands any more.
func (d *supervisor) terminated(id string) {
	peer, failure := d.ranks[id], d.failures[id]
	if failure == nil {
		failure = errStopped
	}
	delete(d.failures, id)
	d.ended[peer] = true
	d.t.command(func() { d.t.lose(peer, failure) })
	d.finish(peer)
}

// request forwards a verified connection request to the actor of its sender.
func (d *supervisor) request(c actor.Context, l *link) {
	if d.ended[l.peer] { // declared dead
		d.t.strangers.declined(negotiation.StaleEpoch)
		d.t.command(func() { d.t.refuse(l, negotiation.Reject{Reason: negotiation.StaleEpoch}) })
		return
	}
	c.Send(d.actor(c, l.peer), invited{l})
}

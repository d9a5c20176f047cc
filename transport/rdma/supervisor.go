package rdma

import (
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/internal/registry"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// supervisorID is the id of the supervisor. Those of the others begin with it.
const supervisorID = "$rdma"

// connectorName is the name of a peer's actor below the supervisor.
func connectorName(peer int) string { return fmt.Sprintf("rank%d", peer) }

// supervision is where the actors of connections live: a supervisor, and below it one actor
// for each peer that was ever met. It is made with the first connection, in an actor
// system that the program's own actors may share (Transport.ActorSystem). Its methods
// are called under the engine's lock.
type supervision struct {
	t      *Transport
	system *actor.ActorSystem
	// root is this package's own, without what others set in system.Root.
	root       *actor.RootContext
	supervisor *actor.PID
	log        switchboard
	struck     bool
	// turns is how many of the next polls yield to the actors.
	turns int
}

// yieldTurns is the number of polls that yield after a message: to the supervisor, and to
// the actor of a peer where another processor took the supervisor's turn.
const yieldTurns = 2

// quiet keeps the dead letter office from writing about messages that come after
// the end.
type quiet struct{}

// IgnoreDeadLetterLogging implements actor.IgnoreDeadLetterLogging.
func (quiet) IgnoreDeadLetterLogging() {}

// What the supervisor is told.
type (
	// notice is an event for the machine of a peer.
	notice struct {
		quiet
		peer  int
		event peering.Event
	}
	// answered says that the peer has accepted a link, with its private data.
	answered struct {
		link *link
		data []byte
	}
	// rejected says that the peer has rejected a link.
	rejected struct {
		link *link
		data []byte
		err  error
	}
	// requested is a request with a record that verifies, invited the same for the actor of its
	// peer.
	requested struct{ link *link }
	invited   struct{ link *link }
	// ending says that this rank ends, finishing that a peer's actor has.
	ending    struct{ quiet }
	finishing struct{ peer int }
)

// open makes the system, if there is none.
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

// send tells the supervisor something, and makes it when it is the first.
func (s *supervision) send(message any) {
	if s.struck {
		return
	}
	if s.supervisor == nil {
		s.open()
		d := &supervisor{t: s.t, connectors: map[int]*actor.PID{}, ranks: map[string]int{}, failures: map[string]error{}, ended: map[int]bool{}}
		var err error
		if s.supervisor, err = s.root.SpawnNamed(actor.PropsFromFunc(d.Receive, actor.WithSupervisor(d)), supervisorID); err != nil {
			panic(fmt.Sprintf("rdma: spawn %s: %v", supervisorID, err)) // another actor has the id
		}
	}
	s.root.Send(s.supervisor, message)
	s.turns = yieldTurns
}

// yield lets actors that were told something have their turn now. A poller yields by
// itself, but after some dozens of polls: 50 microseconds at each of the five steps to a
// connection. The engine's lock stays taken meanwhile; actors do not need it for their
// decisions.
func (s *supervision) yield() {
	if s.turns > 0 {
		s.turns--
		goruntime.Gosched()
	}
}

// stop ends all actors.
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

// tell gives the machine of a peer an event.
func (t *Transport) tell(peer int, e peering.Event) { t.supervision.send(notice{peer: peer, event: e}) }

// supervisor starts an actor for each peer, passes on its events, and supervises it.
type supervisor struct {
	t          *Transport
	connectors map[int]*actor.PID
	// ranks and failures are by id of the actor, ended by peer: their actors ended.
	ranks    map[string]int
	failures map[string]error
	ended    map[int]bool
	ending   bool
	finished int
	// stopping says that the actors were told to stop: one that is started later is not.
	stopping bool
}

// Receive implements actor.Actor.
func (d *supervisor) Receive(c actor.Context) {
	if d.stopping {
		return // requests still arrive, but commands are not carried out any more
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
		d.finished++
		d.leave()
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

// actor returns the actor of a peer.
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
		return c.Spawn(actor.PropsFromFunc(a.Receive)) // the name of one that failed is still known
	}
	return pid
}

// leave lets Close go on when every actor has finished.
func (d *supervisor) leave() {
	if d.ending && d.finished >= len(d.connectors) {
		d.t.command(func() { d.t.over = true })
	}
}

var errStopped = errors.New("the actor of its connection was stopped")

// HandleFailure implements actor.SupervisorStrategy: an actor that fails is stopped,
// and its peer is lost.
func (d *supervisor) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	d.failures[child.Id] = fmt.Errorf("the actor of its connection failed: %v", reason)
	s.StopChildren(child)
}

// terminated deals with the end of an actor: its peer is lost. One that did not fail was
// stopped through its PID, or ends with the supervisor, when commands are not carried out
// any more.
func (d *supervisor) terminated(id string) {
	peer, failure := d.ranks[id], d.failures[id]
	if failure == nil {
		failure = errStopped
	}
	delete(d.failures, id)
	d.ended[peer] = true
	d.t.command(func() { d.t.lose(peer, failure) })
	d.finished++
	d.leave()
}

// request passes a request that verifies on to the actor of its sender.
func (d *supervisor) request(c actor.Context, l *link) {
	if d.ended[l.peer] { // declared dead
		d.t.strangers.declined(negotiation.StaleEpoch)
		d.t.reject(l.request, negotiation.Reject{Reason: negotiation.StaleEpoch}, l.asked)
		return
	}
	c.Send(d.actor(c, l.peer), invited{l})
}

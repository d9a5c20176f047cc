package rdma

import (
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// connector is the actor of one peer. It owns the connections with the peer: it requests them, answers the
// peer's requests, checks the records, and keeps the deadlines. Its peering.Machine decides which
// connection is used and when each connection ends. The connector enqueues its decisions about endpoints
// as commands, and the next Poll executes the commands in order.
type connector struct {
	t       *Transport
	peer    int
	machine *peering.Machine
	began   time.Time
	timer   *time.Timer
	// links are the connections and attempts that the machine still knows.
	links map[peering.Conn]*link
	// number is the Conn.Number of the peer's last request for a main connection.
	number uint32
	// search records the results of this rank's requests since a connection was last in use.
	search search
	// met reports whether a connection with the peer's present incarnation was in use before.
	met bool
	// losses are the last losses of connections in use and the last failed looks, by pair of rails.
	losses map[pair]loss
	// resort says how far the latest attempt on the last rail (resortOf) came.
	resort peering.Contact
	// idle is the timer for the next check whether the connection in use is still needed.
	idle     *time.Timer
	comeback comeback
	// seen identifies the peer's newest look and its newest request for a side connection, by purpose.
	seen [negotiation.Bulk + 1]newest
	// side is the side connection that this rank has requested, until it is established or has failed. sides is
	// the attempt number of the last request, by which the peer recognizes a new request.
	side  *link
	sides uint16
}

// attemptGrace is the minimum time from the deadline of the endpoint to the time at which the machine ends an
// attempt. The endpoint normally ends the attempt earlier, at its deadline, and reports how far the
// attempt came.
const attemptGrace = 5 * time.Second

func newConnector(t *Transport, peer int) *connector {
	var seed [32]byte
	_, _ = crypto.Read(seed[:]) // never fails
	c := &t.config
	return &connector{
		t: t, peer: peer, began: time.Now(), links: map[peering.Conn]*link{}, losses: map[pair]loss{},
		machine: peering.New(peering.Config{
			Rank: uint32(c.Rank), Peer: uint32(peer), Incarnation: c.Incarnation,
			Attempt: c.Attempt + attemptGrace,
			Confirm: c.Confirm, Goodbye: c.Goodbye, RetryMin: c.RetryMin, RetryMax: c.RetryMax,
			GiveUp: c.GiveUp, Absence: c.Absence, Supervised: c.Supervised,
			Random: rand.NewChaCha8(seed),
		}),
	}
}

// tick tells the connector that a deadline of the machine may have passed.
type tick struct{ quiet }

// Receive implements actor.Actor.
func (a *connector) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case notice:
		a.step(c, a.tried(m.event))
	case tick:
		a.step(c, peering.Event{Kind: peering.Tick})
	case invited:
		a.invited(c, m.link)
	case answered:
		a.answered(c, m)
	case rejected:
		a.rejected(c, m)
	case errandEnded:
		a.errand(c, m.link, 0, m.err)
	case sideWanted:
		a.askSide(m.used)
	case lookout:
		a.look(c)
	case revived:
		a.revived(c)
	case inspection:
		a.t.command(func() { a.t.meet(a.peer).rest() })
		a.inspect(c)
	case *actor.Stopping:
		for _, timer := range []*time.Timer{a.timer, a.idle, a.comeback.timer} {
			if timer != nil {
				timer.Stop()
			}
		}
	}
}

// inspection tells the connector to check whether the connection in use is idle.
type inspection struct{ quiet }

// inspect sets the timer for the next inspection, if there is a connection in use and Config.Idle is set.
func (a *connector) inspect(c actor.Context) {
	if a.idle != nil {
		a.idle.Stop()
		a.idle = nil
	}
	if _, ok := a.machine.InUse(); !ok || a.t.config.Idle <= 0 {
		return
	}
	a.idle = a.after(c, a.t.config.Idle, inspection{})
}

// step passes an event to the machine and performs the machine's actions.
func (a *connector) step(c actor.Context, e peering.Event) {
	events := []peering.Event{e}
	for len(events) > 0 {
		e, events = events[0], events[1:]
		for _, action := range a.machine.Step(time.Since(a.began), e, nil) {
			if err := a.perform(c, &action); err != nil {
				events = append(events, a.tried(peering.Event{Kind: peering.Lost, Conn: action.Conn, Contact: peering.Unasked, Err: err}))
			}
		}
		if e.Kind == peering.Lost || e.Kind == peering.Refused {
			delete(a.links, e.Conn)
		}
	}
	a.schedule(c)
}

// tried returns the event for the machine. It records the loss of the connection in use, and the failure of an
// attempt that the peer has not answered. tried replaces e by Gone if all addresses of the peer turn out to be
// addresses of this host, because then there is no way to the peer.
func (a *connector) tried(e peering.Event) peering.Event {
	l := a.links[e.Conn]
	if e.Kind != peering.Lost || l == nil {
		return e
	}
	a.lostInUse(e.Conn, e.Err)
	if !e.Conn.Active || l.replied != nil {
		return e // the peer requested the connection, or has answered this rank's attempt
	}
	a.search.note(l.way, e.Err, a.t.config.Own(a.peer, l.remote.Addr()) || errors.Is(e.Err, errSelf))
	a.publish()
	if absent(e.Err) {
		e.Contact = peering.Absent
	}
	list, err := a.lookup()
	if err != nil {
		return e
	}
	if e.Contact == peering.Absent && a.search.over(list) {
		return peering.Event{Kind: peering.Gone, Err: fmt.Errorf("%w: %w", peering.ErrAbsent, e.Err)}
	}
	// Only an attempt on the last rail shows whether a process listens at the peer. A failure on another rail does not
	// show this fact: the adapter may have failed, and its connection manager may refuse requests
	// although a process listens.
	if l.rail.index < resortOf(list) {
		e.Contact = a.resort
	} else {
		a.resort = e.Contact
	}
	return e
}

// resortOf returns the number of the last rail among the candidates.
func resortOf(list []candidate) uint8 {
	last := uint8(0)
	for _, c := range list {
		last = max(last, c.rail.index)
	}
	return last
}

// trials returns, by rail, a text about the last failed request on the rail, or about a lost connection
// or a failed look on the rail.
func (a *connector) trials() map[uint8]string {
	says := map[uint8]string{}
	for rails, lost := range a.losses {
		says[rails.own] = fmt.Sprintf("its connection was lost: %v", lost.err)
		if lost.look {
			says[rails.own] = fmt.Sprintf("a connection test failed: %v", lost.err)
		}
	}
	for _, t := range a.search.tries {
		if t.Err != nil {
			says[t.way.rail.index] = t.String()
		}
	}
	return says
}

// publish passes a text about the state of the search to the endpoint, where functions under the
// engine's lock read the text.
func (a *connector) publish() {
	says := a.search.String()
	a.t.command(func() {
		if p := a.t.meet(a.peer); p.end == nil {
			p.search = says
		}
	})
}

// unreached adds the addresses of the attempts to err, the reason for which the peer is given up.
func (a *connector) unreached(err error) error {
	var refusal *negotiation.RefusalError
	if len(a.search.tries) == 0 || errors.As(err, &refusal) {
		return err // the peer was reached
	}
	host := ""
	if a.t.config.Host != nil {
		host = a.t.config.Host(a.peer)
	}
	return &UnreachedError{
		Host: host, For: time.Since(a.search.began).Round(silenceUnit), Tries: slices.Clone(a.search.tries), Lost: a.met, Cause: err,
	}
}

// schedule sets the timer to the machine's deadline.
func (a *connector) schedule(c actor.Context) {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	at, ok := a.machine.Deadline()
	if !ok {
		return
	}
	a.timer = a.after(c, at-time.Since(a.began), tick{})
}

// invited handles a verified connection request of the peer.
func (a *connector) invited(c actor.Context, l *link) {
	if l.purpose != negotiation.Lane {
		a.requested(l)
		return
	}
	a.number++
	l.conn = peering.Conn{Number: a.number}
	a.links[l.conn] = l
	a.step(c, peering.Event{Kind: peering.Requested, Conn: l.conn, Greeting: peering.Greeting{
		Incarnation: l.proposal.Incarnation, Attempt: l.proposal.Attempt,
	}})
}

// refuse rejects a connection request of the peer.
func (a *connector) refuse(l *link, r negotiation.Reject) {
	delete(a.links, l.conn)
	a.t.strangers.declined(r.Reason)
	a.t.command(func() { a.t.refuse(l, r) })
}

// answered handles the peer's reply to a request: it checks the reply and computes the terms.
func (a *connector) answered(c actor.Context, m answered) {
	l := m.link
	switch l.purpose {
	case negotiation.Lane:
	case negotiation.Bulk:
		a.sideAccepted(m)
		return
	default:
		a.t.command(func() { a.t.forget(l) })
		a.errand(c, l, 0, errNoLook)
		return
	}
	reply, err := a.reply(l, m.data)
	if err != nil {
		a.t.command(func() { a.t.forget(l) })
		a.step(c, a.tried(peering.Event{Kind: peering.Lost, Conn: l.conn, Err: err}))
		return
	}
	a.step(c, peering.Event{Kind: peering.Established, Conn: l.conn, Greeting: peering.Greeting{
		Incarnation: reply.Incarnation, Attempt: reply.Attempt,
	}})
}

// rejected handles a rejection of a request. If the rejection contains no valid proof that the peer has
// written it, anybody in the network may have written it. Such a rejection counts only as the loss of
// this one attempt.
func (a *connector) rejected(c actor.Context, m rejected) {
	reject, err := a.t.credentials.OpenReject(m.data, m.link.offered, uint32(a.peer))
	if err != nil {
		a.t.strangers.Refusals.Add(1)
	}
	if m.link.purpose != negotiation.Lane {
		a.errand(c, m.link, reject.Reason, err)
		return
	}
	if err != nil {
		a.step(c, a.tried(peering.Event{Kind: peering.Lost, Conn: m.link.conn, Err: fmt.Errorf("%w: %w", m.err, err)}))
		return
	}
	a.step(c, peering.Event{Kind: peering.Refused, Conn: m.link.conn, Reject: reject})
}

// perform performs an action of the machine. An error means that the connection of the action is lost.
func (a *connector) perform(c actor.Context, action *peering.Action) error {
	t, l := a.t, a.links[action.Conn]
	switch action.Kind {
	case peering.Dial:
		return a.dial(action)
	case peering.Accept:
		l.greeting = action.Greeting
		t.command(func() { t.accept(l) })
	case peering.Refuse:
		a.refuse(l, action.Reject)
	case peering.Use:
		trials := a.trials()
		a.met, a.search = true, search{}
		t.command(func() {
			p := t.meet(a.peer)
			p.search, p.trials = "", trials
			p.use(l, l.terms)
		})
		a.inspect(c)
		a.settled(c, l)
	case peering.Retire:
		if errors.Is(action.Err, peering.ErrReplaced) {
			a.lostInUse(action.Conn, action.Err) // the peer lost this connection, and has requested another one
		}
		a.unsettled()
		t.command(func() { t.meet(a.peer).retire(l) })
	case peering.Drop:
		delete(a.links, action.Conn)
		t.command(func() { t.forget(l) })
	case peering.SendBye, peering.SendByeAck:
		kind, final := frameBye, action.Final
		if action.Kind == peering.SendByeAck {
			kind = frameByeAck
		}
		t.command(func() { t.goodbye(l, kind, final) })
	case peering.Close:
		delete(a.links, action.Conn)
		t.command(func() { t.end(l) })
	default:
		a.conclude(c, action)
	}
	return nil
}

// conclude performs the actions that concern the peer and no connection.
func (a *connector) conclude(c actor.Context, action *peering.Action) {
	t, err := a.t, action.Err
	switch action.Kind {
	case peering.Restarted:
		a.met = false
		t.command(func() { t.lose(a.peer, peering.ErrRestarted) })
	case peering.Down:
		err = a.unreached(err)
		t.command(func() { t.lose(a.peer, err) })
	case peering.Ended:
		t.command(func() { t.ended(a.peer, err) })
	case peering.Finished:
		c.Send(c.Parent(), finishing{a.peer})
	case peering.Silent:
		t.log.Log(fmt.Sprintf("rdma: rank %d has not answered for %v, but its host accepts connections: this rank waits for it (%v)",
			a.peer, action.For.Round(silenceUnit), err))
		since := time.Now().Add(-action.For)
		t.command(func() { t.meet(a.peer).silent = since })
	case peering.Answers:
		t.log.Log(fmt.Sprintf("rdma: rank %d answers", a.peer))
		t.command(func() { t.meet(a.peer).silent = time.Time{} })
	default:
	}
}

// dial requests a connection on the next candidate; the candidates take turns.
func (a *connector) dial(action *peering.Action) error {
	list, err := a.lookup()
	if err != nil {
		return err
	}
	way, ok := a.search.next(list)
	if !ok {
		return errSelf // all addresses are this host's own; usually the method tried has found this earlier
	}
	l := &link{
		conn: action.Conn, peer: a.peer, greeting: action.Greeting, way: way, rail: way.rail, remote: way.to.Address,
		timeout: a.t.config.Attempt,
	}
	if len(list) > 1 && way != list[len(list)-1] {
		l.timeout = min(l.timeout, trialMost)
	}
	a.links[l.conn] = l
	if a.t.owns(way.to) {
		return errSelf
	}
	a.publish()
	a.t.command(func() { a.t.dial(l) })
	return nil
}

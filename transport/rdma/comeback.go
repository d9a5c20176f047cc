package rdma

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// comeback brings a pair whose connection is not on its best adapters back to them. Now and
// then, and when a port of this rank comes up, the connector looks whether a better way works:
// it asks for a connection there that the peer refuses, by which the one in use is not touched.
// If the way works, both ends finish their Gets and Puts and end the connection in order
// (leave.go); the next one is asked for on the better way.
type comeback struct {
	// pause is the time from one look to the next. It doubles, up to pauseRatio times
	// Config.Recovery, until a connection has lasted for longer than it.
	pause time.Duration
	timer *time.Timer
	// used is the link in use, since when it came.
	used  *link
	since time.Time
	// looking is the look under way, ways are the ones to look at after it.
	looking *link
	// number is that of the last look, by which the peer knows a new one.
	number uint16
	ways   []candidate
}

// pauseRatio bounds the pauses between looks.
const pauseRatio = 32

// What a connector is told.
type (
	// lookout says that it is time for a look.
	lookout struct{ quiet }
	// revived says that an adapter of this rank may be used again.
	revived struct{ quiet }
)

// worse is how far a way is from the best one. It is the same for both ends: else each would
// leave what the other prefers.
func (p pair) worse() int { return int(p.own) + int(p.peer) }

// pair names the two rails of a link.
func (l *link) pair() pair { return pair{l.rail.index, l.peerRail} }

// better returns the ways that are better than that of the connection in use, best first.
func (a *connector) better() []candidate {
	if a.comeback.used == nil || a.comeback.used.pair().worse() == 0 {
		return nil
	}
	list, err := a.lookup()
	if err != nil {
		return nil
	}
	used := a.comeback.used.pair().worse()
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.pair().worse() >= used })
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.pair().worse(), y.pair().worse()) })
	return list
}

// settled takes note of the connection in use from now on.
func (a *connector) settled(c actor.Context, l *link) {
	b := &a.comeback
	b.used, b.since, b.ways = l, time.Now(), nil
	b.pause = max(b.pause, a.t.config.Recovery)
	a.await(c)
}

// unsettled takes note of the end of the connection in use.
func (a *connector) unsettled() {
	b := &a.comeback
	if b.used != nil && time.Since(b.since) > b.pause {
		b.pause = a.t.config.Recovery
	}
	b.used, b.ways = nil, nil
	b.stop()
}

func (b *comeback) stop() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// await has the connector look later, if there is anything better than what is in use.
func (a *connector) await(c actor.Context) {
	b := &a.comeback
	b.stop()
	if len(a.better()) == 0 {
		return
	}
	root, self := c.ActorSystem().Root, c.Self()
	b.timer = time.AfterFunc(b.pause, func() { root.Send(self, lookout{}) })
}

// look begins to look at the better ways.
func (a *connector) look(c actor.Context) {
	b := &a.comeback
	if b.used == nil || b.looking != nil {
		return
	}
	b.pause = min(2*b.pause, pauseRatio*a.t.config.Recovery)
	b.ways = a.better()
	a.lookNext(c)
}

// lookNext looks at the next way, or waits for the next look.
func (a *connector) lookNext(c actor.Context) {
	b := &a.comeback
	if len(b.ways) == 0 {
		a.await(c)
		return
	}
	way := b.ways[0]
	b.ways = b.ways[1:]
	b.number++
	b.looking = &link{
		conn: peering.Conn{Active: true}, greeting: peering.Greeting{Incarnation: a.t.config.Incarnation, Attempt: b.number},
		peer: a.peer, purpose: negotiation.Look, way: way, rail: way.rail, peerRail: way.to.Rail, remote: way.to.Address,
		timeout: min(a.t.config.Attempt, trialMost),
	}
	l := b.looking
	a.t.command(func() { a.t.dial(l) })
}

// looked takes what became of a look. The connection in use may be another one meanwhile.
func (a *connector) looked(c actor.Context, l *link, err error) {
	b := &a.comeback
	if b.looking != l {
		return
	}
	b.looking = nil
	if err != nil {
		a.losses[l.pair()] = loss{time.Now(), err, true}
		says := a.trials()
		a.t.command(func() { a.t.meet(a.peer).trials = says })
		a.lookNext(c)
		return
	}
	delete(a.losses, l.pair())
	if used := b.used; used != nil && l.pair().worse() < used.pair().worse() {
		a.t.command(func() { a.t.meet(a.peer).leave(used) })
	}
	b.ways = nil
	a.await(c)
}

// revived looks at once: the port of an adapter is up.
func (a *connector) revived(c actor.Context) {
	a.comeback.pause = a.t.config.Recovery
	a.t.command(func() { a.t.meet(a.peer).side.next = time.Time{} })
	a.look(c)
}

// lostInUse remembers that a connection in use was lost on its way.
func (a *connector) lostInUse(conn peering.Conn, err error) {
	if l := a.links[conn]; l != nil && l == a.comeback.used {
		a.losses[l.pair()] = loss{time.Now(), err, false}
	}
}

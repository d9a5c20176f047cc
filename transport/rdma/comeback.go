package rdma

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// comeback brings the connection of two ranks back to their best adapters. The connector tests from
// time to time, and when a port of this rank comes up, whether a better way (type candidate) works.
// For this test the connector requests a connection on that way. This request is called a look. The
// peer rejects a look, so that the connection in use is not affected. If the way works, both ends
// finish their operations (Get, Put, FetchAdd) and end the connection by an orderly disconnect (leave.go). The next
// connection is then requested on the better way.
type comeback struct {
	// pause is the time from one series of looks to the next. In a series, the better ways are tested one
	// after the other, until one of them works. pause doubles with each series, up to pauseRatio times
	// Config.Recovery. When a connection that has lasted for longer than pause ends, or when
	// the port of an adapter comes up, pause is set to Config.Recovery again.
	pause time.Duration
	timer *time.Timer
	// used is the link in use, and since is the time at which it was put in use.
	used  *link
	since time.Time
	// looking is the link of the current look. ways are the candidates to look at after the current
	// look.
	looking *link
	// number is the attempt number of the last look, by which the peer recognizes a new look.
	number uint16
	ways   []candidate
}

// pauseRatio is the maximum pause between looks, and between requests for a side connection, in units of
// Config.Recovery.
const pauseRatio = 32

// Messages to a connector.
type (
	// lookout tells the connector that it is time for a look.
	lookout struct{ quiet }
	// revived tells the connector that an adapter of this rank can be used again.
	revived struct{ quiet }
)

// worse returns the distance of a way from the best way; the distance of the best way is 0. Both
// ranks compute the same value for a way. So they agree whether one way is better than another.
func (p pair) worse() int { return int(p.own) + int(p.peer) }

// pair returns the two rails of a link.
func (l *link) pair() pair { return pair{l.rail.index, l.peerRail} }

// better returns the candidates that are better than the connection in use, best first.
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

// settled records that l is the connection in use from now on.
func (a *connector) settled(c actor.Context, l *link) {
	b := &a.comeback
	b.used, b.since, b.ways = l, time.Now(), nil
	b.pause = max(b.pause, a.t.config.Recovery)
	a.await(c)
}

// unsettled records that the connection in use has ended.
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

// await sets the timer for the next look if there is a better way than the connection in use.
func (a *connector) await(c actor.Context) {
	b := &a.comeback
	b.stop()
	if len(a.better()) == 0 {
		return
	}
	b.timer = a.after(c, b.pause, lookout{})
}

// look begins to look at the better ways, one after the other.
func (a *connector) look(c actor.Context) {
	b := &a.comeback
	if b.used == nil || b.looking != nil {
		return
	}
	b.pause = min(2*b.pause, pauseRatio*a.t.config.Recovery)
	b.ways = a.better()
	a.lookNext(c)
}

// lookNext looks at the next way. If no way is left, it sets the timer for the next look.
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

// looked handles the result of a look; err is nil if the way works. The connection in use may have
// changed since the look began.
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

// revived handles the event that the port of an adapter has come up: the connector looks at once, and
// a side connection may be requested at once.
func (a *connector) revived(c actor.Context) {
	a.comeback.pause = a.t.config.Recovery
	a.t.command(func() { a.t.meet(a.peer).side.next = time.Time{} })
	a.look(c)
}

// lostInUse records the loss of a connection, if the connection was in use. The record is kept under
// the pair of rails of the connection.
func (a *connector) lostInUse(conn peering.Conn, err error) {
	if l := a.links[conn]; l != nil && l == a.comeback.used {
		a.losses[l.pair()] = loss{time.Now(), err, false}
	}
}

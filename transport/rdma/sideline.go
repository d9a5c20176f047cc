package rdma

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// sideWanted asks a connector for a side connection beside the connection in use.
type sideWanted struct {
	quiet
	peer int
	used *link
}

var errNoSide = errors.New("no second working adapter is in a common fabric")

// askSide requests a side connection. At both ends, the side connection uses another rail than the connection
// in use.
func (a *connector) askSide(used *link) {
	way, err := a.sideWay(used)
	if err != nil {
		a.refuseSide(used, err)
		return
	}
	a.sides++
	l := &link{
		conn: peering.Conn{Active: true}, greeting: peering.Greeting{Incarnation: a.t.config.Incarnation, Attempt: a.sides},
		peer: a.peer, purpose: negotiation.Bulk, way: way, rail: way.rail, remote: way.to.Address,
		timeout: min(a.t.config.Attempt, trialMost), beside: used,
	}
	a.side = l
	a.t.command(func() { a.t.dial(l) })
}

// sideWay returns the best candidate for a side connection.
func (a *connector) sideWay(used *link) (candidate, error) {
	list, err := a.lookup()
	if err != nil {
		return candidate{}, err
	}
	list = slices.DeleteFunc(list, func(c candidate) bool {
		_, lost := a.losses[c.pair()]
		return lost || !c.rail.striped() || c.rail == used.rail || c.to.Rail == used.peerRail || a.t.owns(c.to)
	})
	if len(list) == 0 {
		return candidate{}, errNoSide
	}
	return slices.MinFunc(list, func(x, y candidate) int { return cmp.Compare(x.pair().worse(), y.pair().worse()) }), nil
}

// refuseSide tells the endpoint that there is no side connection. The first argument is the link
// that was in use at the time of the request. If that link is not in use any more, the endpoint
// ignores the refusal.
func (a *connector) refuseSide(used *link, err error) {
	a.side = nil
	a.t.command(func() {
		if p := a.t.meet(a.peer); p.link == used {
			p.side.refused(p, err)
		}
	})
}

// sideEnded handles the end of a side connection, or of an attempt at one. reason is the peer's
// reason if err is nil.
func (a *connector) sideEnded(l *link, reason negotiation.Reason, err error) {
	if l != a.side {
		return // l was established, and Poll handles its end; or the peer has requested l
	}
	if err == nil {
		err = fmt.Errorf("refused by the peer: %v", reason)
	}
	a.refuseSide(l.beside, err)
}

// sideAccepted checks the reply of the peer, and passes the link to the endpoint.
func (a *connector) sideAccepted(m answered) {
	l := m.link
	if l != a.side {
		a.t.command(func() { a.t.forget(l) })
		return
	}
	if _, err := a.reply(l, m.data); err != nil {
		a.t.command(func() { a.t.forget(l) })
		a.refuseSide(l.beside, err)
		return
	}
	a.side = nil
	a.t.command(func() {
		p := a.t.meet(a.peer)
		p.side.attach(p, l)
	})
}

// isAside reports whether the link is a side connection that the peer has requested.
func (l *link) isAside() bool { return l.purpose == negotiation.Bulk && !l.conn.Active }

// closeAsides frees the side connections that the peer has requested, except the link in the
// argument named but. The peer has only one side connection at a time, and only as long as the
// connection beside it is in use. When the connection in use is lost, a Put of the peer fails, but
// may still have Writes in flight on the side connection. These Writes must not arrive after the
// next connection is in use, because the peer then sends the bytes again as messages.
func (p *endpoint) closeAsides(but *link) {
	for _, l := range p.t.links {
		if l != but && l.peer == p.peer && l.isAside() {
			p.t.forget(l)
		}
	}
}

// acceptSide accepts a side connection of a peer. If the peer's proof does not arrive within
// Config.Confirm, the link is freed.
func (t *Transport) acceptSide(l *link) {
	if p := t.meet(l.peer); p.end != nil || t.closed {
		t.refuse(l, negotiation.Reject{Reason: negotiation.Busy})
		return
	}
	t.accept(l)
	time.AfterFunc(t.config.Confirm, func() {
		t.command(func() {
			if !l.active {
				t.forget(l)
			}
		})
	})
}

package rdma

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// Besides the connection that carries the lane (purpose negotiation.Lane), a rank requests two other
// kinds of connections. A look tests whether a better way works (type comeback). A side connection
// carries parts of long Gets and Puts (type side). The link of a look or of a side connection is
// called an errand. The connector handles errands itself, because package peering decides only about
// connections of the lane.

// errandEnded tells the connector that an errand has ended, or could not be established.
type errandEnded struct {
	quiet
	link *link
	err  error
}

// lost tells the actor of the peer that a link has ended.
func (t *Transport) lost(l *link, contact peering.Contact, err error) {
	if l.purpose != negotiation.Lane {
		t.supervision.send(errandEnded{link: l, err: err})
		return
	}
	t.tell(l.peer, peering.Event{Kind: peering.Lost, Conn: l.conn, Contact: contact, Err: err})
}

// requested answers the peer's request for an errand. It rejects a request for a side connection that is not newer than
// all earlier ones, because such a request was abandoned, or is a replay. The next Poll accepts or rejects any other
// request for a side connection. Every other request for an errand is a look. requested rejects a look, and the reason
// of the rejection is the answer to the look.
func (a *connector) requested(l *link) {
	if l.purpose == negotiation.Bulk {
		if !a.seen[negotiation.Bulk].newer(&l.proposal) {
			a.refuse(l, negotiation.Reject{Reason: negotiation.Duplicate})
			return
		}
		a.t.command(func() { a.t.acceptSide(l) })
		return
	}
	answer := negotiation.Reject{Reason: a.reachable(l)}
	a.t.command(func() { a.t.refuse(l, answer) })
}

// reachable returns the answer to a look of the peer: Reachable if a connection could be made on the
// rail of the link, and Busy otherwise. A new look also proves that its way works. So reachable
// deletes the loss that is recorded for this way.
func (a *connector) reachable(l *link) negotiation.Reason {
	switch {
	case l.rail.out() != nil:
		return negotiation.Busy
	case a.seen[negotiation.Look].newer(&l.proposal):
		delete(a.losses, l.pair())
	default: // a replay of a recorded look, which does not prove that the way works now
		a.t.strangers.declined(negotiation.Duplicate)
	}
	return negotiation.Reachable
}

// newest identifies the newest request of one purpose that this rank has received from a peer.
type newest struct {
	incarnation, attempt uint16
	known                bool
}

// newer reports whether a request is newer than all earlier requests of the peer with the same purpose. If the request
// is newer, the method records it. Incarnations and attempt numbers are compared as serial numbers (RFC 1982).
func (s *newest) newer(r *negotiation.Record) bool {
	if life := int16(r.Incarnation - s.incarnation); s.known && (life < 0 || life == 0 && int16(r.Attempt-s.attempt) <= 0) {
		return false
	}
	*s = newest{r.Incarnation, r.Attempt, true}
	return true
}

// errNoLook is the error of a look that the peer accepts. A correct peer accepts no look.
var errNoLook = errors.New("the peer accepted a connection test, which it has to reject")

// errand handles the answer to an errand of this rank, or the end of an errand. The end of an errand
// of the peer has no effect.
func (a *connector) errand(c actor.Context, l *link, reason negotiation.Reason, err error) {
	if l.purpose == negotiation.Bulk {
		a.sideEnded(l, reason, err)
		return
	}
	if err == nil && reason != negotiation.Reachable {
		err = fmt.Errorf("refused by the peer: %v", reason)
	}
	a.looked(c, l, err)
}

// reply checks the peer's reply to the request for a link, and sets the fields of the link that the
// reply determines.
func (a *connector) reply(l *link, data []byte) (negotiation.Record, error) {
	reply, err := a.t.credentials.OpenReply(data, l.offered, uint32(a.peer))
	if err == nil {
		l.peerRail = reply.Rail
		l.terms, err = negotiation.Conclude(&l.offer, &reply)
	}
	if err != nil {
		return reply, fmt.Errorf("reply of %v: %w", l.remote, err)
	}
	l.replied = data
	return reply, nil
}

package rdma

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// A link of another purpose than negotiation.Lane carries no messages, and the machine of the
// pair does not know it: its connector deals with it alone.

// errandEnded says that a link of another purpose has ended, or never came about.
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

// requested answers a request that is not for the connection of the pair. What a peer can ask
// for it can be asked for.
func (a *connector) requested(l *link) {
	if l.purpose == negotiation.Bulk {
		a.t.command(func() { a.t.acceptSide(l) })
		return
	}
	a.t.reject(l.request, negotiation.Reject{Reason: a.reachable(l)}, l.asked)
}

// reachable is the answer to a look of the peer: Reachable if a connection could be made, which is
// then no worse a way than others.
func (a *connector) reachable(l *link) negotiation.Reason {
	switch {
	case l.rail.out() != nil:
		return negotiation.Busy
	case a.seen.newer(&l.proposal):
		delete(a.losses, l.pair())
	default: // somebody sends again what was recorded, which says nothing of the way now
		a.t.strangers.declined(negotiation.Duplicate)
	}
	return negotiation.Reachable
}

// looks is the newest look of a peer that was seen.
type looks struct {
	incarnation, attempt uint16
	known                bool
}

// newer reports whether a look is newer than those seen, and takes note of it (RFC 1982).
func (s *looks) newer(r *negotiation.Record) bool {
	if life := int16(r.Incarnation - s.incarnation); s.known && (life < 0 || life == 0 && int16(r.Attempt-s.attempt) <= 0) {
		return false
	}
	*s = looks{r.Incarnation, r.Attempt, true}
	return true
}

// errNoLook says that a peer does what none does.
var errNoLook = errors.New("the peer accepted what only asked whether the way works")

// errand deals with the answer to, or the end of, an own link of another purpose.
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

// reply checks the reply of the peer to the request for a link, and sets what it says.
func (a *connector) reply(l *link, data []byte) (negotiation.Record, error) {
	reply, err := a.t.credentials.OpenReply(data, l.offered, uint32(a.peer))
	if err == nil {
		l.peerRail = reply.Rail
		l.terms, err = negotiation.Conclude(&l.offer, &reply)
	}
	if err != nil {
		return reply, fmt.Errorf("reply of %v: %w", l.remote, err)
	}
	l.answered, l.replied = true, data
	return reply, nil
}

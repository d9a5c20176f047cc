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
	reject := negotiation.Reject{Reason: negotiation.Reachable}
	if l.rail.out() != nil {
		reject.Reason = negotiation.Busy
	} else {
		delete(a.losses, l.pair())
	}
	a.t.reject(l.request, reject, l.asked)
}

// errNoLook says that a peer does what none does.
var errNoLook = errors.New("the peer accepted what only asked whether the way works")

// errand deals with the answer to, or the end of, an own link of another purpose.
func (a *connector) errand(c actor.Context, l *link, reason negotiation.Reason, err error) {
	if err == nil && reason != negotiation.Reachable {
		err = fmt.Errorf("refused by the peer: %v", reason)
	}
	a.looked(c, l, err)
}

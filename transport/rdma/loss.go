package rdma

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// damaged gives up a peer that sent what no correct peer sends.
func (t *Transport) damaged(l *link, err error) {
	if errors.Is(err, credit.ErrViolation) {
		err = fmt.Errorf("%w: %w", transport.ErrDamaged, err)
	}
	t.lose(l.peer, err)
}

// linkEnd is a link that has ended while messages of it were not handed over.
type linkEnd struct {
	link    *link
	contact peering.Contact
	cause   error
}

// adopt puts a link in use on which the first messages of the peer have come, which is
// what its actor is about to decide, if it is still wanted: the peer may be gone, and
// would not say it again. It reports whether there is something to hand over.
func (t *Transport) adopt(l *link) bool {
	p := t.meet(l.peer)
	if l.purpose != negotiation.Lane || l.used || l.gone || l.conn.Active || len(l.held) == 0 || p.link != nil || p.end != nil {
		return false
	}
	p.use(l, l.terms)
	return true
}

// endLinks deals with links that have ended, when their messages are handed over.
func (t *Transport) endLinks() int {
	if len(t.ends) == 0 || len(t.stash) > 0 {
		return 0
	}
	list := t.ends
	t.ends = nil
	for _, e := range list {
		t.forget(e.link)
		t.lost(e.link, e.contact, e.cause)
	}
	return len(list)
}

// lose gives up a peer. Its loss is reported after its operations.
func (t *Transport) lose(peer int, cause error) {
	p := t.meet(peer)
	if p.end != nil && errors.Is(p.end, transport.ErrPeerDown) {
		return
	}
	down := &transport.PeerDown{Peer: peer, Cause: cause}
	p.cut(down)
	t.downs = append(t.downs, down)
	t.tell(peer, peering.Event{Kind: peering.Gone, Err: cause})
}

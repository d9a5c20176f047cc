package rdma

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// damaged gives up a peer that has sent data that a correct peer never sends.
func (t *Transport) damaged(l *link, err error) {
	if errors.Is(err, credit.ErrViolation) {
		err = fmt.Errorf("%w: %w", transport.ErrDamaged, err)
	}
	t.lose(l.peer, err)
}

// linkEnd records that a link has ended before all its messages were delivered to the handler.
type linkEnd struct {
	link    *link
	contact peering.Contact
	cause   error
}

// adopt puts a link in use if the first messages of the peer have arrived on it and no other link
// is in use. The actor knows of the first message and would also put the link in use. But the peer
// may end before the actor does so. Then the peer would not send these messages again. adopt
// returns true if there are messages to deliver.
func (t *Transport) adopt(l *link) bool {
	p := t.meet(l.peer)
	if l.purpose != negotiation.Lane || l.used || l.gone || l.conn.Active || len(l.held) == 0 || p.link != nil || p.end != nil {
		return false
	}
	p.use(l, l.terms)
	return true
}

// endLinks frees links that have ended and whose messages are delivered, and informs the actors of
// their peers.
func (t *Transport) endLinks() int {
	if len(t.ends) == 0 || len(t.stash) > 0 {
		return 0
	}
	list := t.ends
	t.ends = nil
	for _, e := range list {
		if t.adopt(e.link) { // its first messages were in the stash when it ended
			t.ends = append(t.ends, e)
			continue
		}
		t.forget(e.link)
		t.lost(e.link, e.contact, e.cause)
	}
	return len(list)
}

// lose gives up a peer. Poll reports the loss after the end of the operations on the peer.
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

package rdma

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// damaged gives up a peer that sent what no correct peer sends.
func (t *Transport) damaged(l *link, err error) {
	if errors.Is(err, credit.ErrViolation) {
		err = fmt.Errorf("%w: %w", transport.ErrDamaged, err)
	}
	t.lose(l.peer, err)
}

// departure is a peer that was marked down: a process that is gone, whose last
// messages may have arrived.
type departure struct {
	peer  int
	cause error
	// polls is how often its messages were looked for.
	polls int
}

// departurePolls bounds that, for a peer that is not gone at all and goes on sending.
const departurePolls = 64

// depart begins to give up a peer that was marked down.
func (t *Transport) depart(peer int, cause error) {
	for _, l := range t.links {
		if l.peer == peer && t.adopt(l) {
			break
		}
	}
	if p := t.peers[peer]; p == nil || p.link == nil {
		t.lose(peer, cause)
		return
	}
	t.leaving = append(t.leaving, departure{peer: peer, cause: cause})
}

// dismiss reads what has arrived, and gives up the peers that were marked down when
// that was all.
func (t *Transport) dismiss(h transport.Handler, left *int) int {
	events := 0
	for n := 1; n > 0 && *left > 0; events += n {
		n = t.completions(h, left)
	}
	kept := t.leaving[:0]
	for _, d := range t.leaving {
		d.polls++
		if p := t.peers[d.peer]; *left > 0 || p.link == nil || d.polls > departurePolls {
			t.lose(d.peer, d.cause)
			events++
			continue
		}
		kept = append(kept, d)
	}
	t.leaving = kept
	return events
}

// linkEnd is a link that has ended before its actor could put it in use.
type linkEnd struct {
	link  *link
	cause error
}

// adopt puts a link in use on which the first messages of the peer have come, which is
// what its actor is about to decide, if it is still wanted: the peer may be gone, and
// would not say it again. It reports whether there is something to hand over.
func (t *Transport) adopt(l *link) bool {
	p := t.meet(l.peer)
	if l.used || l.gone || l.conn.Active || len(l.held) == 0 || p.link != nil || p.end != nil {
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
		t.tell(e.link.peer, peering.Event{Kind: peering.Lost, Conn: e.link.conn, Err: e.cause})
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

package rdma

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// leaving says how far the two ends are with a connection that is to end in favour of one on a
// better way, or with new keys. Nothing is lost with a connection that ends in order but Puts under way, and Gets
// begin again. So the end that has found the way takes no more of these, and says so when the
// last has ended; the other one does the same, and then says BYE. Messages are taken all the
// time: those that are not acknowledged are sent again.
type leaving uint8

const (
	// staying: it does not end.
	staying leaving = iota
	// resolved: this end wants it to end, and has not said so.
	resolved
	// proposed: it has, and the peer is to say BYE.
	proposed
	// agreed: the peer has said so, and this end is to say BYE.
	agreed
	// told: the actor is to say BYE.
	told
)

// leaveIdle is the second word of a recordLeave of a rank that sees no traffic. The Reads and
// Writes of its peer it does not see, so a peer with any answers recordStay.
const leaveIdle = 1

// leave ends the connection on a link if it is still in use.
func (p *endpoint) leave(l *link) {
	if p.link == l && p.end == nil && !p.t.closed && p.leaving == staying {
		p.leaving, p.idle = resolved, false
		p.list()
	}
}

// relax ends the connection in use if the peer does not need it either. None takes its place.
func (p *endpoint) relax() {
	if p.leaving == staying {
		p.leaving, p.idle = resolved, true
		p.list()
	}
}

// moves reports whether another connection is to take the place of the one that ends.
func (p *endpoint) moves() bool { return p.leaving != staying && !p.idle }

// wearEvery is how many frames pass between two looks at whether a connection is worn.
const wearEvery = 1024

// wear has a connection end in order that has carried as much as its keys may: the next one has
// new keys. One of the two ranks looks, which sees both directions.
func (p *endpoint) wear() {
	if l := p.link; l.rail.encrypted && p.t.config.Rank < p.peer && l.endpoint.Worn() {
		p.leave(l)
	}
}

// agree takes the peer's wish to end the connection of a nonce. The record of a connection that
// was lost meanwhile is sent again on the next one, which the peer does not want to end: Puts of
// it may be under way there.
func (p *endpoint) agree(h *transport.Header) error {
	idle := h.B == leaveIdle
	switch {
	case p.link == nil || p.link.nonce() != h.A:
	case idle && p.leaving == staying && (p.bulk.any() || p.bulk.waits()):
		p.bulk.supersede(recordStay)
		if len(p.bulk.answers) >= answersMax {
			return fmt.Errorf("%w: %d questions are unanswered", transport.ErrDamaged, len(p.bulk.answers))
		}
		p.bulk.answers = append(p.bulk.answers, answer{recordStay, transport.Header{A: h.A}})
	default:
		p.idle = idle && (p.idle || p.leaving == staying)
		p.leaving = max(p.leaving, agreed)
	}
	return nil
}

// stay takes the answer of a peer that needs the connection of a nonce.
func (p *endpoint) stay(nonce uint64) {
	if p.link != nil && p.link.nonce() == nonce && p.leaving == proposed {
		p.leaving = staying
	}
}

// nonce is from the request for a link, so that it is the same at both ends, and another one for
// each connection.
func (l *link) nonce() uint64 {
	request := &l.proposal
	if l.conn.Active {
		request = &l.offer
	}
	return binary.LittleEndian.Uint64(request.Nonce[:])
}

// wish is the header of the recordLeave.
func (p *endpoint) wish() transport.Header {
	h := transport.Header{A: p.link.nonce()}
	if p.idle {
		h.B = leaveIdle
	}
	return h
}

// part goes on with that. It returns false when it is the peer's or the actor's turn.
func (p *endpoint) part() bool {
	switch {
	case p.leaving != resolved && p.leaving != agreed:
		return false
	case p.bulk.any() || p.bulk.waits():
	case p.leaving == agreed:
		p.leaving = told
		p.t.tell(p.peer, peering.Event{Kind: peering.Idle})
		return false
	case p.sendRecord(recordLeave, p.wish(), nil, nil):
		p.leaving = proposed
		return false
	}
	return true
}

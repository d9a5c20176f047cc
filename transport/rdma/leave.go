package rdma

import (
	"encoding/binary"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// leaving says how far the two ends are with a connection that is to end in favour of one on a
// better way. Nothing is lost with a connection that ends in order but Puts under way, and Gets
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

// leave ends the connection on a link if it is still in use.
func (p *endpoint) leave(l *link) {
	if p.link == l && p.end == nil && !p.t.closed && p.leaving == staying {
		p.leaving = resolved
		p.list()
	}
}

// agree takes the peer's wish to end the connection of a nonce. The record of a connection that
// was lost meanwhile is sent again on the next one, which the peer does not want to end: Puts of
// it may be under way there.
func (p *endpoint) agree(nonce uint64) {
	if p.link != nil && p.link.nonce() == nonce {
		p.leaving = max(p.leaving, agreed)
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
	case p.sendRecord(recordLeave, transport.Header{A: p.link.nonce()}, nil, nil):
		p.leaving = proposed
		return false
	}
	return true
}

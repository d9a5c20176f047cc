package rdma

import (
	"encoding/binary"
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// leaving is the state of a connection that is to end in order: because a connection on a better
// way or with new keys is to replace it, or because it is idle. With a connection that ends in
// order only Puts under way would be lost, and Gets would begin again. So the end that wants the
// connection to end accepts no more Gets and Puts, and sends a recordLeave when the last has ended.
// The other end does the same, and then sends BYE. Messages are accepted all the time: those that
// are not acknowledged are retransmitted on the next connection.
type leaving uint8

const (
	// staying: the connection is not to end.
	staying leaving = iota
	// resolved: this end wants the connection to end, and has not sent recordLeave yet.
	resolved
	// proposed: this end has sent recordLeave, and the peer is to send BYE.
	proposed
	// agreed: the peer has sent recordLeave, and this end is to send BYE.
	agreed
	// told: the actor was told to send BYE.
	told
)

// leaveIdle is the second word of a recordLeave from a rank that sees no traffic. That rank does
// not see the Reads and Writes of its peer, so a peer that has any answers recordStay.
const leaveIdle = 1

// leave begins to end the connection on a link, if the link is still in use.
func (p *endpoint) leave(l *link) {
	if p.link == l && p.end == nil && !p.t.closed && p.leaving == staying {
		p.leaving, p.idle = resolved, false
		p.list()
	}
}

// relax begins to end the connection in use because it is idle. The peer may answer that it needs
// the connection. No other connection replaces it.
func (p *endpoint) relax() {
	if p.leaving == staying {
		p.leaving, p.idle = resolved, true
		p.list()
	}
}

// moves reports whether another connection is to replace the connection that ends.
func (p *endpoint) moves() bool { return p.leaving != staying && !p.idle }

// wearEvery is the number of frames from one check whether a connection is worn to the next.
const wearEvery = 1024

// wear begins to end an encrypted connection that has carried as much data as its keys allow; the
// next connection has new keys. Only the lower of the two ranks checks that, since each end counts
// both directions.
func (p *endpoint) wear() {
	if l := p.link; l.rail.encrypted && p.t.config.Rank < p.peer && l.endpoint.Worn() {
		p.leave(l)
	}
}

// agree handles a recordLeave of the peer for the connection with a nonce. If that connection was
// lost meanwhile, the record has been retransmitted on the next connection, and is ignored: the
// peer does not want the next connection to end, and may have Puts under way there.
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

// stay handles a recordStay: the peer needs the connection with the nonce.
func (p *endpoint) stay(nonce uint64) {
	if p.link != nil && p.link.nonce() == nonce && p.leaving == proposed {
		p.leaving = staying
	}
}

// nonce returns a number from the request for a link. It is the same at both ends, and differs for
// each connection.
func (l *link) nonce() uint64 {
	request := &l.proposal
	if l.conn.Active {
		request = &l.offer
	}
	return binary.LittleEndian.Uint64(request.Nonce[:])
}

// wish returns the header of the recordLeave.
func (p *endpoint) wish() transport.Header {
	h := transport.Header{A: p.link.nonce()}
	if p.idle {
		h.B = leaveIdle
	}
	return h
}

// part takes the next step to end the connection. It returns false if the next step is the peer's
// or the actor's.
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

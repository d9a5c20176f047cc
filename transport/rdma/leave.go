package rdma

import (
	"encoding/binary"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// leaving is the state of the orderly end of a connection. A connection ends in this way because a
// connection on a better way or with new keys is to replace it, or because it is idle. When a
// connection ends, Puts in flight fail, and Gets in flight begin again. Therefore the rank that
// wants to end the connection first stops accepting operations (Get, Put, FetchAdd), and sends a
// recordLeave when the last of them has ended. The peer then also stops accepting operations, waits
// for the last of them, and sends BYE, which ends the connection. Messages are accepted all the time,
// because messages that are not acknowledged are retransmitted on the next connection.
type leaving uint8

const (
	// staying: the connection is not to end.
	staying leaving = iota
	// resolved: this rank wants to end the connection, and has not sent recordLeave yet.
	resolved
	// proposed: this rank has sent recordLeave, and the peer has to send BYE.
	proposed
	// agreed: the peer has sent recordLeave, and this rank has to send BYE.
	agreed
	// told: the actor was told to send BYE.
	told
)

// leaveIdle is the second word of a recordLeave from a rank that sees no traffic. That rank does
// not see the Reads and Writes of its peer. So a peer that has operations in progress answers
// with recordStay.
const leaveIdle = 1

// leave begins to end the connection of link l, if the link is still in use.
func (p *endpoint) leave(l *link) {
	if p.link == l && p.end == nil && !p.t.closed && p.leaving == staying {
		p.leaving, p.idle = resolved, false
		p.list()
	}
}

// relax begins to end the connection in use because it is idle. The peer may answer that it needs
// the connection. No other connection replaces a connection that ends because it is idle, unless the
// endpoint refuses an operation in the meantime (method refuse).
func (p *endpoint) relax() {
	if p.leaving == staying {
		p.leaving, p.idle = resolved, true
		p.list()
	}
}

// moves reports whether another connection is to replace the connection that ends.
func (p *endpoint) moves() bool { return p.leaving != staying && !p.idle }

// endpoint.post checks whether a connection is worn each time endpoint.activity is a multiple of wearEvery.
const wearEvery = 1024

// wear begins to end an encrypted connection that has carried as much data as the provider permits for
// one set of keys. The next connection has new keys. Both ranks make this check, because a rank whose
// memory is only read or written by the peer begins no operation.
func (p *endpoint) wear() {
	if l := p.link; l.rail.encrypted && l.endpoint.Worn() {
		p.leave(l)
	}
}

// agree handles a recordLeave of the peer. Word A of h is the nonce of the connection that is to end.
// If that connection was lost, the record was retransmitted on the next connection. Then agree ignores
// the record, because the peer does not want the next connection to end, and may have Puts in flight on
// it.
func (p *endpoint) agree(h *transport.Header) error {
	idle := h.B == leaveIdle
	switch {
	case p.link == nil || p.link.nonce() != h.A:
	case idle && p.leaving == staying && (p.bulk.any() || p.bulk.waits()):
		p.bulk.supersede(recordStay)
		if err := p.bulk.overdue(); err != nil {
			return err
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

// nonce returns a number from the request for a link. The number is the same at both ends of a
// connection, and differs between connections.
func (l *link) nonce() uint64 {
	request := &l.proposal
	if l.conn.Active {
		request = &l.offer
	}
	return binary.LittleEndian.Uint64(request.Nonce[:])
}

// wish returns the header of the recordLeave for the connection in use.
func (p *endpoint) wish() transport.Header {
	h := transport.Header{A: p.link.nonce()}
	if p.idle {
		h.B = leaveIdle
	}
	return h
}

// part takes the next step to end the connection. It returns false if the peer or the actor has to
// take the next step.
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

package engine

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// message is the record of a message that arrived before a matching receive was posted, that a matched
// probe took, or that is being passed to its receive. It holds the payload (eager) or the key of the
// sender's memory (RTS, handover). For a message of this rank to itself, it may instead hold the request of
// the send (self) or the memory (local).
type message struct {
	links [shapesTotal]entry

	peer   *peer
	kind   kind
	flags  uint8
	tag    int32
	typ    Type
	id     uint32 // id of the sender's operation, if the sender waits for an answer
	length int
	key    transport.Key
	data   []byte   // eager: the payload, in memory of Engine.spare
	cost   uint32   // eager: credit to return to the sender
	self   *Request // a send of this rank to itself whose payload is still in the sender's slice
	local  []byte   // the memory of a handover of this rank to itself

	// before and after link the messages that one peer may withdraw: those for which it waits for an
	// answer. waits is true while the message is in that list (peer.envelopes).
	before, after *message
	waits         bool
}

// status returns the Status that a probe reports for the message.
func (g *message) status() Status {
	return Status{Source: g.peer.rank, Tag: int(g.tag), Bytes: g.length, Type: g.typ}
}

// sortBySeq sorts entries in the order of their insertion.
func sortBySeq(es []*entry) {
	slices.SortFunc(es, func(a, b *entry) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
}

// newMessage returns a record of a message that has arrived from p with header h. The caller
// sets the fields that depend on the kind.
func (e *Engine) newMessage(p *peer, h header) *message {
	g := e.spare.messages.get()
	g.peer, g.kind, g.flags, g.tag, g.typ, g.id = p, h.kind, h.flags, h.tag, h.typ, h.id
	return g
}

// freeMessage frees the record of a message that is in no table any more. It returns the memory
// of the payload to the spare memory and the credit to the sender.
func (e *Engine) freeMessage(g *message) {
	if g.waits {
		g.peer.forget(g)
	}
	if g.cost != 0 {
		e.repay(g.peer, g.cost)
	}
	if len(g.data) > 0 {
		e.recorder.Unexpected(-len(g.data))
		e.spare.put(g.data)
	}
	e.spare.messages.put(g)
}

// await appends g to the list of messages that the peer may withdraw.
func (p *peer) await(g *message) {
	g.waits, g.before = true, p.newest
	if p.newest != nil {
		p.newest.after = g
	} else {
		p.envelopes = g
	}
	p.newest = g
}

// awaited returns the message of the peer's operation with this id, or nil if the peer may not withdraw such a
// message. It searches the list from both ends, because a peer that withdraws many messages mostly begins with the
// oldest or the newest.
func (p *peer) awaited(id uint32) *message {
	for oldest, newest := p.envelopes, p.newest; oldest != nil; oldest, newest = oldest.after, newest.before {
		if oldest.id == id {
			return oldest
		}
		if newest.id == id {
			return newest
		}
	}
	return nil
}

// forget removes g from the list of messages that the peer may withdraw.
func (p *peer) forget(g *message) {
	if g.before != nil {
		g.before.after = g.after
	} else {
		p.envelopes = g.after
	}
	if g.after != nil {
		g.after.before = g.before
	} else {
		p.newest = g.before
	}
	g.waits, g.before, g.after = false, nil, nil
}

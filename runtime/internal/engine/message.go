package engine

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// message is a message that arrived before its receive was posted, or that a matched probe
// took. Its contents depend on kind: the bytes (eager), their memory (RTS, handover) or the
// sender's request (self).
type message struct {
	links [shapesTotal]entry

	peer   *peer
	kind   kind
	flags  uint8
	tag    int32
	typ    Type
	id     uint32 // operation of the sender, if it waits for an answer
	length int
	key    transport.Key
	data   []byte   // eager: from Engine.spare
	cost   uint32   // eager: credit to return
	self   *Request // a send of this rank to itself that keeps its bytes
	local  []byte   // handover of this rank to itself

	// before and after chain the messages of a peer whose sender waits for an
	// answer; they can be withdrawn.
	before, after *message
	waits         bool
	free          *message
}

// status describes the message as a probe sees it.
func (g *message) status() Status {
	return Status{
		Source: g.peer.rank, Tag: int(g.tag), Bytes: g.length, Type: g.typ,
		Handover: g.kind == kindHandover,
	}
}

// sortBySeq sorts entries by the order of their insertion.
func sortBySeq(es []*entry) {
	slices.SortFunc(es, func(a, b *entry) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
}

// newMessage describes a message that has arrived.
func (e *Engine) newMessage(p *peer, h header) *message {
	g := e.spare.record()
	g.peer, g.kind, g.flags, g.tag, g.typ, g.id = p, h.kind, h.flags, h.tag, h.typ, h.id
	return g
}

// freeMessage frees a message that is in no table any more, and returns its memory and its
// credit.
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
	e.spare.drop(g)
}

// await adds g to the messages that its sender may withdraw.
func (p *peer) await(g *message) {
	g.waits, g.after = true, p.envelopes
	if p.envelopes != nil {
		p.envelopes.before = g
	}
	p.envelopes = g
}

// forget is the inverse of await.
func (p *peer) forget(g *message) {
	if g.before != nil {
		g.before.after = g.after
	} else {
		p.envelopes = g.after
	}
	if g.after != nil {
		g.after.before = g.before
	}
	g.waits, g.before, g.after = false, nil, nil
}

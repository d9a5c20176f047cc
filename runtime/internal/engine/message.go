package engine

import (
	"math/bits"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// message is one that arrived before its receive was posted, or that a matched
// probe took. What it holds depends on kind: the bytes (eager), where they are
// (RTS, handover) or the sender's request (self).
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

// newMessage takes a record from the free list.
func (e *Engine) newMessage(p *peer, h header) *message {
	g := e.messages
	if g == nil {
		g = new(message)
	} else {
		e.messages = g.free
	}
	g.peer, g.kind, g.flags, g.tag, g.typ, g.id = p, h.kind, h.flags, h.tag, h.typ, h.id
	return g
}

// freeMessage ends a message that is in no table any more and gives its memory
// and its credit back.
func (e *Engine) freeMessage(g *message) {
	if g.waits {
		g.peer.forget(g)
	}
	if g.cost != 0 {
		e.repay(g.peer, g.cost)
	}
	e.spare.put(g.data)
	*g = message{free: e.messages}
	e.messages = g
}

// await puts g among the messages that its sender may withdraw.
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

// Sizes of the memory that unexpected messages are copied to: powers of two from
// 1 << minClass to 1 << maxClass bytes are kept for the next message, up to
// maxSpare bytes in all.
const (
	minClass = 6
	maxClass = 16
	maxSpare = 4 << 20
)

// spareMemory keeps the memory of unexpected messages for the next ones.
type spareMemory struct {
	classes [maxClass + 1][][]byte
	bytes   int // kept
}

// get returns n bytes with any contents.
func (s *spareMemory) get(n int) []byte {
	if n == 0 {
		return nil
	}
	class := max(bits.Len(uint(n-1)), minClass)
	if class > maxClass {
		return make([]byte, n)
	}
	c := &s.classes[class]
	if last := len(*c) - 1; last >= 0 {
		b := (*c)[last]
		(*c)[last], *c = nil, (*c)[:last]
		s.bytes -= cap(b)
		return b[:n]
	}
	return make([]byte, n, 1<<class)
}

// put keeps b if it is of a kept size and there is room.
func (s *spareMemory) put(b []byte) {
	n := cap(b)
	if n < 1<<minClass || n > 1<<maxClass || n&(n-1) != 0 || s.bytes+n > maxSpare {
		return
	}
	c := &s.classes[bits.Len(uint(n-1))]
	*c = append(*c, b[:0])
	s.bytes += n
}

package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// LongParts says how AllToAllVSlots copies the parts that are not in a slot.
type LongParts int

const (
	// BySegments copies through shared memory, as AllToAllPipeline does.
	BySegments LongParts = iota
	// ByReads copies from the senders' private memory. It requires CanPull.
	ByReads
	// ByMessages sends messages of the Peer.
	ByMessages
)

// AllToAllVSlots copies part j of c.Send of member i to part i of c.Recv of member j, for all i and j.
// A sender's slot, a small buffer of shared memory, has a table of its parts (see table.go), followed
// by its short parts. From the tables, every member knows the length of the longest part that is not in
// a slot. If there is such a part, every member calls choose with this length, and choose returns the
// same answer to all members. c.Recv must not be the same memory as c.Send.
//
// Restrictions: at most TableMax members. Cost: alpha + p n beta for short parts of n bytes. For long parts:
// n p/segment alpha + 2 p n beta by segments, 2 alpha + p n beta by reads, or (p-1) (alpha + n beta) by
// messages.
func (g *Group) AllToAllVSlots(p message.Peer, c *message.Call, choose func(longest int) (LongParts, error)) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	mine.list(c.Send, c.SendParts, g.rank, g.size)
	if err := g.meet(n); err != nil {
		return err
	}
	kernel.Copy(c.RecvParts.Of(c.Recv, g.rank), c.SendParts.Of(c.Send, g.rank))
	longest := mine.longest()
	var slots slotted
	for k := 1; k < g.size; k++ {
		q := (g.rank + k) % g.size
		s, dst := g.slot(q, n), c.RecvParts.Of(c.Recv, q)
		e := s.entry(g.rank)
		slots.note(q, mine.entry(q), e)
		err := e.expect(q, len(dst))
		if err == nil && e.inSlot() {
			err = s.take(e, dst)
		}
		if err != nil {
			return err
		}
		longest = max(longest, s.longest())
	}
	if longest == 0 {
		return nil
	}
	how, err := choose(longest)
	switch {
	case err != nil:
		return err
	case how == BySegments:
		return g.longBySegments(c, slots, longest)
	case how == ByReads:
		return g.longByReads(c, slots)
	}
	return g.longByMessages(p, c, slots)
}

// slotted has two words with a bit for each member (at most TableMax). Bit q of out is set if the part for
// member q is in this member's slot. Bit q of in is set if the part of member q for this member is in q's
// slot. The tables in the slots have the same information, but only until the members choose how to copy the
// long parts. The choice and the first large operation take further steps. After these steps, a member that has
// ended the operation may use its slot again.
type slotted struct{ out, in uint64 }

// note sets the bits of member q. out is the entry of the part for q, and in is the entry of the part of q.
func (s *slotted) note(q int, out, in entry) {
	if out.inSlot() {
		s.out |= 1 << q
	}
	if in.inSlot() {
		s.in |= 1 << q
	}
}

// leaves returns the part of c.Send for member q or, if that part is in this member's slot, nil. enters
// returns the part of c.Recv that receives the part of member q or, if that part is in q's slot, nil.
func (s slotted) leaves(c *message.Call, q int) []byte {
	if s.out>>q&1 != 0 {
		return nil
	}
	return c.SendParts.Of(c.Send, q)
}

func (s slotted) enters(c *message.Call, q int) []byte {
	if s.in>>q&1 != 0 {
		return nil
	}
	return c.RecvParts.Of(c.Recv, q)
}

// longBySegments is AllToAllPipeline for the parts that are not in the slots. longest is the length of the
// longest of these parts.
func (g *Group) longBySegments(c *message.Call, slots slotted, longest int) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(longest, 1, f.lane())
	first := f.claim(count, each*f.lanes())
	for i := range count {
		s := first + uint64(i)
		mine, err := f.acquire(s)
		if err != nil {
			return err
		}
		for q := range f.parts {
			if q != g.rank {
				copy(mine[f.laneIn(g.rank, q)*each:], window(slots.leaves(c, q), i, each))
			}
		}
		f.publish(s)
		for k := 1; k < g.size; k++ {
			q := (g.rank + k) % g.size
			theirs, err := f.written(q, s)
			if err != nil {
				return err
			}
			copy(window(slots.enters(c, q), i, each), theirs[f.laneIn(q, g.rank)*each:])
		}
		f.finish(s)
	}
	return nil
}

// longByReads copies the parts that are not in the slots from the private memory of their senders.
func (g *Group) longByReads(c *message.Call, slots slotted) error {
	g.note(c.Send)
	g.note(c.Recv)
	g.lending.place(c.SendParts)
	return g.lending.during(c.Send, func(l *peerReads) error {
		for k := 1; k < g.size; k++ {
			q := (g.rank + k) % g.size
			in := slots.enters(c, q)
			if len(in) == 0 {
				continue
			}
			if err := l.pullPart(q, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// longByMessages is message.AllToAllVScattered for the parts that are not in the slots. It sends no message
// for a part that is in a slot. (Empty parts are always in a slot.)
func (g *Group) longByMessages(p message.Peer, c *message.Call, slots slotted) error {
	return message.StartAll(p, func(to, from int) error {
		out, in := slots.leaves(c, to), slots.enters(c, from)
		if len(out) == 0 {
			to = message.Nobody
		}
		if len(in) == 0 {
			from = message.Nobody
		}
		return p.Start(to, out, from, in)
	})
}

package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// In the small operations a contribution has at most SmallMax bytes, so that it fits into one slot (a
// small buffer, plan.go). A small operation costs alpha + n beta for a member that reads n bytes.

// BcastSmall broadcasts buf of root to all members. Root waits for the others only when it has
// used all of its slots.
func (g *Group) BcastSmall(buf []byte, root int) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	if g.rank == root {
		copy(mine.room(len(buf)), buf)
		g.announce(mine, n)
	} else {
		from, err := g.awaitSlot(root, n)
		if err != nil {
			return err
		}
		copy(buf, from.room(len(buf)))
	}
	g.leads(root)
	g.finish(n)
	return nil
}

// ScatterSmall copies block q of root's buffer send to member q's buffer recv, for all q. All
// blocks together have at most SmallMax bytes.
func (g *Group) ScatterSmall(send, recv []byte, root int) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	size := len(recv)
	others := size * (g.size - 1) // root's own block is not in the slot
	if g.rank == root {
		room := mine.room(others)
		copy(room[copy(room, send[:root*size]):], send[(root+1)*size:])
		g.announce(mine, n)
		kernel.Copy(recv, send[root*size:][:size])
	} else {
		from, err := g.awaitSlot(root, n)
		if err != nil {
			return err
		}
		place := g.rank
		if place > root {
			place--
		}
		copy(recv, from.room(others)[place*size:])
	}
	g.leads(root)
	g.finish(n)
	return nil
}

// leads makes member q the leader (see Group.leader) if members share processors.
func (g *Group) leads(q int) {
	if g.crowded {
		g.leader = q
	}
}

// ReduceSmall combines the contributions into root's buffer recv.
func (g *Group) ReduceSmall(send, recv []byte, root int, r message.Reduction) error {
	n, err := g.contribute(send, root)
	if err == nil && g.rank == root {
		g.combine(recv, n, r)
	}
	g.finish(n)
	return err
}

// GatherSmall gathers the contributions in the blocks of root's buffer recv.
func (g *Group) GatherSmall(send, recv []byte, root int) error {
	n, err := g.contribute(send, root)
	if err == nil && g.rank == root {
		g.lay(recv, message.Equal(len(send)), n)
	}
	g.finish(n)
	return err
}

// contribute writes this member's contribution into its slot of the next step, n. Root also waits for
// the contributions of the others.
func (g *Group) contribute(send []byte, root int) (n uint64, err error) {
	n, mine, err := g.begin()
	if err != nil {
		return n, err
	}
	copy(mine.room(len(send)), send)
	if g.rank == root {
		return n, g.collect(n)
	}
	g.announce(mine, n)
	return n, nil
}

// lay copies every member's contribution, from its slot of step n, to that member's part of recv.
func (g *Group) lay(recv []byte, parts message.Parts, n uint64) {
	for q := range g.size {
		copy(parts.Of(recv, q), g.slot(q, n).room(parts.Count(q)))
	}
}

// AllGatherSmall gathers the contributions of all members in the parts of every member's buffer
// recv.
func (g *Group) AllGatherSmall(send, recv []byte, parts message.Parts) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	copy(mine.room(len(send)), send)
	if err := g.meet(n); err != nil {
		return err
	}
	g.lay(recv, parts, n)
	return nil
}

// AllToAllSmall sends block q of this member's buffer send to member q, for all q. In member q's
// buffer recv, the number of the block is this member's rank. All blocks of a member together have at
// most SmallMax bytes. recv may be the same memory as send.
func (g *Group) AllToAllSmall(send, recv []byte) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	copy(mine.room(len(send)), send)
	if err := g.meet(n); err != nil {
		return err
	}
	size := len(send) / g.size
	for q := range g.size {
		copy(recv[q*size:][:size], g.slot(q, n).room(len(send))[g.rank*size:])
	}
	return nil
}

// ReduceScatterSmall combines the contributions, and stores part q of the result in member q's
// buffer recv. All parts together have at most SmallMax bytes. recv may be the same memory as this
// member's part of send.
func (g *Group) ReduceScatterSmall(send, recv []byte, parts message.Parts, r message.Reduction) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	copy(mine.room(len(send)), send)
	if err := g.meet(n); err != nil {
		return err
	}
	all := func(q int) []byte { return parts.Of(g.slot(q, n).room(len(send)), g.rank) }
	r.Fn(recv, all(0), all(1))
	for q := 2; q < g.size; q++ {
		r.Fn(recv, recv, all(q))
	}
	return nil
}

// ScanSmall combines the contributions of member 0 up to this member into recv. recv may be the same
// memory as send.
func (g *Group) ScanSmall(send, recv []byte, r message.Reduction) error {
	return g.scanSmall(send, recv, g.rank+1, r)
}

// ExScanSmall combines the contributions of the members with lower ranks into recv. recv may be the
// same memory as send. Member 0's buffer recv stays unchanged.
func (g *Group) ExScanSmall(send, recv []byte, r message.Reduction) error {
	return g.scanSmall(send, recv, g.rank, r)
}

// scanSmall combines the contributions of the first members into recv; count is the number of these members.
func (g *Group) scanSmall(send, recv []byte, count int, r message.Reduction) error {
	n, mine, err := g.begin()
	if err != nil {
		return err
	}
	copy(mine.room(len(send)), send)
	g.announce(mine, n)
	for q := range g.rank {
		if _, err := g.awaitSlot(q, n); err != nil {
			return err
		}
	}
	g.combineBelow(recv, n, count, r)
	g.leads(0)
	g.finish(n)
	return nil
}

// combineBelow combines the contributions of the members 0 to count-1, from their slots of step n, in rank
// order, into dst. If count is 0, dst stays unchanged.
func (g *Group) combineBelow(dst []byte, n uint64, count int, r message.Reduction) {
	size := len(dst)
	switch count {
	case 0:
		return
	case 1:
		copy(dst, g.slot(0, n).room(size))
		return
	}
	r.Fn(dst, g.slot(0, n).room(size), g.slot(1, n).room(size))
	for q := 2; q < count; q++ {
		r.Fn(dst, dst, g.slot(q, n).room(size))
	}
}

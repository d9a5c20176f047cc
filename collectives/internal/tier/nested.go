package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Nested is the tier of ranks that are divided into groups. An operation uses the inner tier within
// the groups, and the outer tier between the leaders of the groups.
type Nested struct {
	message.Peer
	inner Tier
	outer Tier // nil if this rank is not the leader of its group
	// groups has the ranks of each group in ascending order; the first is the leader. group[r] is the
	// number of the group of rank r. place[r] is the index of r in this group.
	groups       [][]int
	group, place []int
	widest       int    // number of ranks of the largest group
	room         []byte // see space
}

var _ Tier = (*Nested)(nil)

// Parts describes a division of ranks into groups, and the place of one rank in it.
type Parts struct {
	// Groups has the ranks of each group in ascending order; the first is the leader of the group.
	// The groups are in the order of their leaders.
	Groups [][]int
	// Group is the index of this rank's group in Groups. Place is the index of this rank in its group.
	Group, Place int
}

// Divide returns the division in which rank r belongs to group of[r]. The fields Group and Place of the
// result describe the rank given by the argument rank. The caller must number the groups from 0 in
// the order of their first ranks.
func Divide(of []int, rank int) Parts {
	var p Parts
	for r, g := range of {
		if g == len(p.Groups) {
			p.Groups = append(p.Groups, nil)
		}
		if r == rank {
			p.Group, p.Place = g, len(p.Groups[g])
		}
		p.Groups[g] = append(p.Groups[g], r)
	}
	return p
}

// Mine returns the ranks of this rank's group.
func (p Parts) Mine() []int { return p.Groups[p.Group] }

// Leaders returns the leader, the first rank, of every group.
func (p Parts) Leaders() []int {
	leaders := make([]int, len(p.Groups))
	for g, ranks := range p.Groups {
		leaders[g] = ranks[0]
	}
	return leaders
}

// InOrder reports whether all ranks of each group are lower than all ranks of the next group. If it returns false, the
// operator of a reduction of a Nested must be commutative.
func (p Parts) InOrder() bool {
	next := 0
	for _, ranks := range p.Groups {
		for _, r := range ranks {
			if r != next {
				return false
			}
			next++
		}
	}
	return true
}

// NewNested returns the tier of all ranks of p, divided into groups by parts. inner is the tier of
// this rank's group. outer is the tier of the leaders, in the order of the groups; it is nil at ranks
// that are not leaders.
func NewNested(p message.Peer, parts Parts, inner, outer Tier) *Nested {
	n := &Nested{Peer: p, inner: inner, outer: outer, groups: parts.Groups}
	n.group, n.place = make([]int, p.Size()), make([]int, p.Size())
	for g, ranks := range parts.Groups {
		n.widest = max(n.widest, len(ranks))
		for i, r := range ranks {
			n.group[r], n.place[r] = g, i
		}
	}
	return n
}

// mine returns the number of this rank's group.
func (n *Nested) mine() int { return n.group[n.Rank()] }

// leads reports whether this rank is the leader of its group.
func (n *Nested) leads() bool { return n.outer != nil }

// space returns scratch memory with undefined contents. The memory is valid until the next call of space.
func (n *Nested) space(bytes int) []byte {
	if cap(n.room) < bytes {
		n.room = make([]byte, bytes)
	}
	return n.room[:bytes]
}

// segment is the length, in bytes, of the pieces of a long operation. The operation is a pipeline:
// while the leaders exchange one piece, the other ranks work on the next.
const segment = 1 << 20

// pieces calls do with the bounds of each piece of a buffer of n bytes. If n is 0, it calls do once.
// The length of a piece is a multiple of unit.
func pieces(n, unit int, do func(from, to int) error) error {
	each := max(segment/unit, 1) * unit
	for from := 0; ; from += each {
		if err := do(from, min(from+each, n)); err != nil || from+each >= n {
			return err
		}
	}
}

// Barrier implements Tier. Each leader waits until all ranks of its group have arrived, synchronizes
// with the other leaders, and then releases its group.
func (n *Nested) Barrier() error {
	if err := n.inner.Gather(nil, nil, 0); err != nil {
		return err
	}
	if n.leads() {
		if err := n.outer.Barrier(); err != nil {
			return err
		}
	}
	return n.inner.Bcast(nil, 0)
}

// Bcast implements Tier. It broadcasts each piece of buf within root's group, then between the
// leaders, then within the other groups.
func (n *Nested) Bcast(buf []byte, root int) error {
	return pieces(len(buf), 1, func(from, to int) error { return n.bcast(buf[from:to], root) })
}

func (n *Nested) bcast(buf []byte, root int) error {
	of := n.group[root]
	if n.mine() == of {
		if err := n.inner.Bcast(buf, n.place[root]); err != nil {
			return err
		}
	}
	if n.leads() {
		if err := n.outer.Bcast(buf, of); err != nil {
			return err
		}
	}
	if n.mine() == of {
		return nil
	}
	return n.inner.Bcast(buf, 0)
}

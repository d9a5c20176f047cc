package tier

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// Nested is the tier of ranks in groups.
type Nested struct {
	message.Peer
	inner Tier
	outer Tier // nil but at the leader of a group
	// groups has the ranks of each group in rising order, the leader first; group and place are a
	// rank's number of its group and its number there.
	groups       [][]int
	group, place []int
	widest       int // ranks of the largest group
	inOrder      bool
	room         []byte
}

var _ Tier = (*Nested)(nil)

// Parts describes a division of ranks into groups from one rank's view.
type Parts struct {
	// Groups has the ranks of each group in rising order; the first is its leader. The groups are in
	// the order of their leaders.
	Groups [][]int
	// Group is the number of this rank's group, Place its number there.
	Group, Place int
}

// Divide returns the groups of the ranks that have the same number in of, which begin with 0 in the
// order of their first ranks, as seen by a rank.
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

// Leaders returns the first rank of every group.
func (p Parts) Leaders() []int {
	leaders := make([]int, len(p.Groups))
	for g, ranks := range p.Groups {
		leaders[g] = ranks[0]
	}
	return leaders
}

// InOrder reports whether the ranks of each group precede those of the next one.
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

// NewNested returns the tier of all ranks of p in groups: inner is that of this rank's group, outer
// that of the leaders in the order of the groups, nil at other ranks.
func NewNested(p message.Peer, parts Parts, inner, outer Tier) *Nested {
	n := &Nested{Peer: p, inner: inner, outer: outer, groups: parts.Groups, inOrder: parts.InOrder()}
	n.group, n.place = make([]int, p.Size()), make([]int, p.Size())
	for g, ranks := range parts.Groups {
		n.widest = max(n.widest, len(ranks))
		for i, r := range ranks {
			n.group[r], n.place[r] = g, i
		}
	}
	return n
}

// InOrder reports whether the ranks of each group precede those of the next one, so that operators
// need not commute.
func (n *Nested) InOrder() bool { return n.inOrder }

// mine returns the number of this rank's group.
func (n *Nested) mine() int { return n.group[n.Rank()] }

// leads reports whether this rank is the leader of its group.
func (n *Nested) leads() bool { return n.outer != nil }

// space returns n bytes of any contents, which are valid until the next call.
func (n *Nested) space(bytes int) []byte {
	if cap(n.room) < bytes {
		n.room = make([]byte, bytes)
	}
	return n.room[:bytes]
}

// segment is the length in bytes of the pieces of a long operation: while the leaders communicate
// about one, the others work on the next.
const segment = 1 << 20

// pieces calls do with the bounds of the pieces of n bytes, whole numbers of unit; once if n is 0.
func pieces(n, unit int, do func(from, to int) error) error {
	each := max(segment/unit, 1) * unit
	for from := 0; ; from += each {
		if err := do(from, min(from+each, n)); err != nil || from+each >= n {
			return err
		}
	}
}

// Barrier implements Tier: the leaders meet when all of their groups have arrived, and then
// release them.
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

// Bcast implements Tier: within root's group, then between the leaders, then within the other
// groups, in pieces.
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

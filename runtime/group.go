package runtime

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Group is an ordered set of world ranks. It is a value and never changes.
type Group struct {
	ranks []int
}

// Comparison is the result of Group.Compare.
type Comparison int

// Results of Group.Compare.
const (
	// Identical groups have the same members in the same order.
	Identical Comparison = iota
	// Similar groups have the same members in another order.
	Similar
	// Unequal groups have different members.
	Unequal
)

// String returns the name of the result.
func (c Comparison) String() string {
	switch c {
	case Identical:
		return "identical"
	case Similar:
		return "similar"
	default:
		return "unequal"
	}
}

// Size returns the number of members.
func (g Group) Size() int { return len(g.ranks) }

// WorldRank returns the world rank of the member that has this rank in the group, or
// Undefined if no member has it.
func (g Group) WorldRank(rank int) int {
	if rank < 0 || rank >= len(g.ranks) {
		return Undefined
	}
	return g.ranks[rank]
}

// Rank returns the rank in the group of the member with this world rank, or Undefined if the group has
// no such member.
func (g Group) Rank(worldRank int) int {
	if i := slices.Index(g.ranks, worldRank); i >= 0 {
		return i
	}
	return Undefined
}

// Ranks returns the world ranks of the members in order, as a new slice.
func (g Group) Ranks() []int { return slices.Clone(g.ranks) }

// Translate returns, for each of these ranks of g, the rank of the same member in other, or
// Undefined if that member is not in other. ProcNull stays ProcNull. If a rank is not in g, the error
// is ErrRank.
func (g Group) Translate(ranks []int, other Group) ([]int, error) {
	inOther := other.index()
	translated := make([]int, len(ranks))
	for i, rank := range ranks {
		if rank == ProcNull {
			translated[i] = ProcNull
			continue
		}
		if err := g.check(rank); err != nil {
			return nil, err
		}
		found, ok := inOther[g.ranks[rank]]
		if !ok {
			found = Undefined
		}
		translated[i] = found
	}
	return translated, nil
}

// Include returns the group of the members of g that have these ranks, in this order. If a rank is not
// in g or appears twice, the error is ErrRank.
func (g Group) Include(ranks ...int) (Group, error) {
	picked := make([]int, 0, len(ranks))
	seen := make(map[int]bool, len(ranks))
	for _, rank := range ranks {
		if err := g.check(rank); err != nil {
			return Group{}, err
		}
		if seen[rank] {
			return Group{}, callsite.At(fmt.Errorf("%w: %d appears twice", ErrRank, rank))
		}
		seen[rank] = true
		picked = append(picked, g.ranks[rank])
	}
	return Group{picked}, nil
}

// Exclude returns g without the members that have these ranks. If a rank is not in g or appears twice,
// the error is ErrRank.
func (g Group) Exclude(ranks ...int) (Group, error) {
	gone, err := g.Include(ranks...)
	if err != nil {
		return Group{}, err
	}
	return g.Difference(gone), nil
}

// Union returns the members of g, followed by the members of other that are not in g.
func (g Group) Union(other Group) Group {
	return Group{append(slices.Clone(g.ranks), other.Difference(g).ranks...)}
}

// Intersection returns the members of g that are in other, in the order of g.
func (g Group) Intersection(other Group) Group { return g.filter(other, true) }

// Difference returns the members of g that are not in other, in the order of g.
func (g Group) Difference(other Group) Group { return g.filter(other, false) }

// Compare reports whether the groups have the same members, and in the same order.
func (g Group) Compare(other Group) Comparison {
	switch {
	case slices.Equal(g.ranks, other.ranks):
		return Identical
	case len(g.ranks) == len(other.ranks) && g.Difference(other).Size() == 0:
		return Similar
	default:
		return Unequal
	}
}

// filter returns the members that are in other or, if wanted is false, the members that are
// not in other.
func (g Group) filter(other Group, wanted bool) Group {
	inOther := other.index()
	var kept []int
	for _, rank := range g.ranks {
		if _, ok := inOther[rank]; ok == wanted {
			kept = append(kept, rank)
		}
	}
	return Group{kept}
}

// index maps world ranks to ranks of the group.
func (g Group) index() map[int]int {
	m := make(map[int]int, len(g.ranks))
	for rank, world := range g.ranks {
		m[world] = rank
	}
	return m
}

// check returns ErrRank for a rank that is not in the group.
func (g Group) check(rank int) error {
	if rank < 0 || rank >= len(g.ranks) {
		return callsite.At(fmt.Errorf("%w: %d of a group of %d", ErrRank, rank, len(g.ranks)))
	}
	return nil
}

package runtime

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Placement returns for each member the number of its node among the nodes of c, which are
// numbered from 0 in the order of their first members. Members of one node can share memory; with
// -transport rdma each rank is a node of its own. It sends nothing, and is the same at every
// member.
func (c *Comm) Placement() []int {
	place, seen := make([]int, c.size), make(map[any]int)
	for rank := range place {
		key := c.core.world.placeOf(c.WorldRank(rank))
		if _, known := seen[key]; !known {
			seen[key] = len(seen)
		}
		place[rank] = seen[key]
	}
	return place
}

// placeOf returns what is the same for the ranks of a node, and for no others.
func (w *World) placeOf(rank int) any {
	if w.network.forced {
		return rank
	}
	if w.job.Nodes == 1 {
		return bootstrap.NodeID{}
	}
	if book := w.book.Load(); book != nil {
		if card, ok := book.Card(rank); ok {
			return card.Node
		}
	}
	return rank // it ended before it published its node
}

// NewSharedAmong is NewShared for some members of c: ranks are theirs, in rising order, and those
// alone call it. Part and Word take a member's place in ranks. Of members that overlap, one group
// after the other may call it.
func NewSharedAmong(c *Comm, ranks []int, bytesPerRank int) (*Shared, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(fmt.Errorf("new shared memory: %w", err))
	}
	me, mine := slices.BinarySearch(ranks, c.rank)
	if !mine {
		return nil, callsite.At(fmt.Errorf("new shared memory: %w: rank %d is not among the ranks %v", ErrRank, c.rank, ranks))
	}
	world := make([]int, len(ranks))
	for i, rank := range ranks {
		if world[i] = c.WorldRank(rank); world[i] == Undefined || i > 0 && rank <= ranks[i-1] {
			return nil, callsite.At(fmt.Errorf("new shared memory: %w: %v are not ranks of %s in rising order", ErrRank, ranks, c.core.name))
		}
	}
	return newSharedOf(c, world, me, bytesPerRank)
}

// CacheDomain returns which processors this rank shares a cache with: the number of the L3 cache of
// the processors that it may run on, among those of the machine, or of the NUMA node where the
// machine has only one L3 cache or describes none. It is -1 if these processors are in several
// domains, so that the rank is not bound to one, and domains is 0 or 1 where the machine has no
// several. Ranks of a node see the same domains.
func CacheDomain() (domain, domains int) { return ownDomain() }

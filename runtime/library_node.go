package runtime

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Placement returns the number of each member's node, by rank in c. The nodes of the members are
// numbered from 0 in the order of their lowest ranks in c. Members of one node can share memory;
// with -transport rdma each rank is a node of its own. Placement sends no messages, and its result
// is the same at every member.
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

// placeOf returns a key that is equal for the ranks of one node and differs between nodes.
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
	return rank // the rank ended before it published its card
}

// NewSharedAmong is NewShared for some members of c. ranks are the ranks of these members in c, in
// ascending order. Only these members call it. Part and Word take a member's index in ranks in
// place of the member's rank. A member of two overlapping sets calls NewSharedAmong for the second set
// only after its call for the first set has returned.
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
			return nil, callsite.At(fmt.Errorf("new shared memory: %w: %v are not ranks of %s in ascending order", ErrRank, ranks, c.core.name))
		}
	}
	return newSharedOf(c, world, me, bytesPerRank)
}

// CacheDomain returns the cache domain in which this rank runs, and how many domains the machine
// has. A domain is a set of processors that share an L3 cache. If the machine has only one L3 cache
// or describes none, a domain is the set of processors of a NUMA node. The result domain is -1 if
// the processors on which the rank may run are in several domains or in none. The result domains is 0 or 1 on
// a machine without several domains. All ranks of a node number the domains alike.
func CacheDomain() (domain, domains int) { return ownDomain() }

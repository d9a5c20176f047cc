package collectives

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
)

// domains records the domains of the members on this rank's node. A domain is the set of processors
// that share an L3 cache or belong to one NUMA node (see runtime.CacheDomain).
type domains struct {
	// The function own returns the domain of this rank and the number of domains of the host. It is
	// runtime.CacheDomain, except in tests.
	own func() (domain, domains int)
	// spread is true if the members on the node are in several domains, and at least one domain has several members.
	// Any goroutine may read it.
	spread atomic.Bool
	// parts has the members of each domain. It is empty if spread is false.
	parts tier.Parts
	// levels executes operations on two levels: within domains and between domains. It is nil before
	// the first such operation.
	levels *tier.Nested
}

// exchange sends this rank's domain to all members of the node, receives the domains of the other
// members, and sets parts. It leaves parts empty if a member is not bound to one domain, if all members
// are in one domain, or if each member has a domain of its own. If the host has fewer than two domains,
// exchange sends nothing.
func (d *domains) exchange(n *node.Group, rank, size int) error {
	mine, all := d.own()
	if all < 2 {
		return nil
	}
	send, recv := binary.LittleEndian.AppendUint64(nil, uint64(mine)), make([]byte, 8*size)
	if err := n.AllGatherSmall(send, recv, message.Equal(len(send))); err != nil {
		return err
	}
	numbers, seen := make([]int, size), make(map[uint64]int)
	for i := range numbers {
		domain := binary.LittleEndian.Uint64(recv[8*i:])
		if int64(domain) < 0 {
			return nil // a member is not bound to one domain
		}
		if _, known := seen[domain]; !known {
			seen[domain] = len(seen)
		}
		numbers[i] = seen[domain]
	}
	if len(seen) > 1 && len(seen) < size {
		d.parts = tier.Divide(numbers, rank)
		d.spread.Store(true)
	}
	return nil
}

// inDomains returns g.domains.levels. In the first call the members of each domain allocate shared
// memory together. After that, the first members of all domains allocate shared memory together.
func (g *group) inDomains() (*tier.Nested, error) {
	d := &g.domains
	if d.levels != nil {
		return d.levels, nil
	}
	all := tier.NewSubset(&g.peer, g.parts.Mine(), g.parts.Place)
	inner, err := g.memoryTier(all, d.parts.Mine(), d.parts.Place)
	if err != nil {
		return nil, err
	}
	var outer tier.Tier
	if d.parts.Place == 0 {
		if outer, err = g.memoryTier(all, d.parts.Leaders(), d.parts.Group); err != nil {
			return nil, err
		}
	}
	d.levels = tier.NewNested(all, d.parts, inner, outer)
	return d.levels, nil
}

// memoryTier returns the tier.Tier of some members of this rank's node. They execute operations through
// shared memory; a single member executes them alone. The argument all has all members of the node. The
// argument some has the indices of the chosen members in all. some[place] is the index of this rank.
func (g *group) memoryTier(all *tier.Subset, some []int, place int) (tier.Tier, error) {
	mine := tier.NewSubset(all, some, place)
	if len(some) == 1 {
		return tier.Alone{Peer: mine}, nil
	}
	ranks := make([]int, len(some))
	for i, m := range some {
		ranks[i] = g.parts.Mine()[m]
	}
	n, err := g.memoryOf(ranks, place)
	if err != nil {
		return nil, err
	}
	return tier.NewMemory(mine, n, g.crowded, g.cramped), nil
}

// openDeep returns g.deep. The first call makes g.deep, with three levels: within domains, between the
// domains of a node, and between nodes. If spread is false, g.deep has only two levels: within
// nodes and between nodes.
func (g *group) openDeep() (*tier.Nested, error) {
	if g.deep != nil {
		return g.deep, nil
	}
	if !g.domains.spread.Load() {
		g.deep = g.levels
		return g.deep, nil
	}
	inner, err := g.inDomains()
	if err != nil {
		return nil, err
	}
	g.deep = tier.NewNested(&g.peer, g.parts, inner, g.leaders())
	return g.deep, nil
}

// leaders returns the tier.Tier of the first members of all nodes, or nil if this rank is not the first
// member of its node.
func (g *group) leaders() tier.Tier {
	if g.parts.Place != 0 {
		return nil
	}
	return &tier.Messages{Peer: tier.NewSubset(&g.peer, g.parts.Leaders(), g.parts.Group)}
}

// byDomain returns the algorithm node-domains of an operation. The algorithm serves the members of one
// node, and has two levels: within domains and between domains.
func byDomain(op message.Operation) nearby {
	var limits message.Limits
	if op.Reduces() {
		limits = message.Commutes
	}
	return nearby{op, inDomains, func(g *group, whole *node.Group, c *message.Call) error {
		n, err := g.inDomains()
		if err != nil {
			return err
		}
		if err := leveled[op](n, c); err != nil {
			return err
		}
		return whole.Agree() // compares the calls in the memory of the whole node, not of a domain
	}, limits, true}
}

package collectives

import (
	"slices"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
)

// place sets the fields of g that depend on the members' nodes. nodes is the result of
// runtime.Comm.Placement.
func (g *group) place(nodes []int) {
	g.parts = tier.Divide(nodes, g.rank)
	g.near = slices.Max(nodes) == 0
	g.nested = !g.near && len(g.parts.Groups) < g.size
	g.inOrder = g.nested && g.parts.InOrder()
	g.widest = 0
	for _, ranks := range g.parts.Groups {
		g.widest = max(g.widest, len(ranks))
	}
}

// enterNode records a blocking call in the shared memory of this rank's node, so that the other
// members can compare their calls with it. In the first call the members of every node allocate this
// shared memory together. If this rank is alone on its node, enterNode records nothing.
func (g *group) enterNode(said node.Call, trail uint64) error {
	if !g.near {
		if !g.nested {
			return nil
		}
		if err := g.openLevels(); err != nil || len(g.parts.Mine()) == 1 {
			return err
		}
	}
	n, err := g.shared()
	if err == nil {
		n.Enter(said, trail)
	}
	return err
}

// openLevels makes g.levels, the operations within nodes and between nodes, in the first call.
func (g *group) openLevels() error {
	if g.levels != nil {
		return nil
	}
	mine := tier.NewSubset(&g.peer, g.parts.Mine(), g.parts.Place)
	var inner tier.Tier = tier.Alone{Peer: mine}
	if mine.Size() > 1 {
		n, err := g.shared()
		if err != nil {
			return err
		}
		inner = tier.NewMemory(mine, n, g.crowded, g.cramped)
	}
	g.levels = tier.NewNested(&g.peer, g.parts, inner, g.leaders())
	return nil
}

// The names of the algorithms of package tier.
const (
	twoLevel   = "two-level"    // within nodes and between nodes
	threeLevel = "three-level"  // within domains, between the domains of a node, and between nodes
	inDomains  = "node-domains" // within domains and between the domains of one node
)

// leveled has for each operation the function that executes the operation with these algorithms. The function
// is nil for an operation without such an algorithm.
var leveled = [message.Operations]func(n *tier.Nested, c *message.Call) error{
	message.Barrier: func(n *tier.Nested, _ *message.Call) error { return n.Barrier() },
	message.Bcast:   func(n *tier.Nested, c *message.Call) error { return n.Bcast(c.Recv, c.Root) },
	message.Reduce: func(n *tier.Nested, c *message.Call) error {
		return n.Reduce(c.Send, c.Recv, c.Root, c.Reduction)
	},
	message.AllReduce: func(n *tier.Nested, c *message.Call) error { return n.AllReduce(c.Send, c.Recv, c.Reduction) },
	message.Gather:    func(n *tier.Nested, c *message.Call) error { return n.Gather(c.Send, c.Recv, c.Root) },
	message.Scatter:   func(n *tier.Nested, c *message.Call) error { return n.Scatter(c.Send, c.Recv, c.Root) },
	message.AllGather: func(n *tier.Nested, c *message.Call) error { return n.AllGather(c.Send, c.Recv) },
	message.AllToAll:  func(n *tier.Nested, c *message.Call) error { return n.AllToAll(c.Send, c.Recv) },
}

package collectives

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// nearby is an algorithm for ranks that share memory.
type nearby struct {
	op   message.Operation
	name string
	run  func(g *group, n *node.Group, c *message.Call) error
	// limits are those of a message.Algorithm.
	limits message.Limits
}

// errUnreadable says that an algorithm cannot read the members' private memory.
var errUnreadable = errors.New("private memory of other ranks cannot be read")

// nearbys are the algorithms of package node. Their reductions combine from left to right.
var nearbys = []nearby{
	{message.Barrier, "node-flags", func(_ *group, n *node.Group, _ *message.Call) error { return n.BarrierFlags() }, 0},
	{message.Barrier, "node-counter", func(_ *group, n *node.Group, _ *message.Call) error { return n.BarrierCounter() }, 0},

	{message.Bcast, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.BcastSmall(c.Recv, c.Root) }, 0},
	{message.Bcast, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.BcastPipeline(c.Recv, c.Root) }, 0},
	{message.Bcast, "node-pair", bcastPair, 0},

	{message.Reduce, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ReduceSmall(c.Send, c.Recv, c.Root, c.Reduction)
	}, 0},
	{message.Reduce, "node-segments", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ReduceSegments(c.Send, c.Recv, c.Root, c.Reduction)
	}, 0},

	{message.AllReduce, "node-exchange", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceExchange(c.Send, c.Recv, c.Reduction)
	}, 0},
	{message.AllReduce, "node-counter", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceCounter(c.Send, c.Recv, c.Reduction)
	}, 0},
	{message.AllReduce, "node-pair", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReducePair(c.Send, c.Recv, c.Reduction)
	}, 0},
	{message.AllReduce, "node-segments", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceSegments(c.Send, c.Recv, c.Reduction)
	}, 0},

	{message.Gather, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.GatherSmall(c.Send, c.Recv, c.Root) }, 0},
	{message.Gather, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.GatherPipeline(c.Send, c.Recv, c.Root) }, 0},

	{message.Scatter, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.ScatterSmall(c.Send, c.Recv, c.Root) }, 0},
	{message.Scatter, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.ScatterPipeline(c.Send, c.Recv, c.Root) }, 0},

	{message.AllGather, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherSmall(c.Send, c.Recv, c.RecvParts)
	}, 0},
	{message.AllGather, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherPipeline(c.Send, c.Recv, c.RecvParts)
	}, 0},

	{message.AllToAll, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.AllToAllSmall(c.Send, c.Recv) }, 0},
	{message.AllToAll, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.AllToAllPipeline(c.Send, c.Recv) }, message.Apart},
	{message.AllToAll, "node-pull", allToAllPull, message.Apart},

	{message.ReduceScatter, "node-small", reduceScatterSmall, 0},
	{message.ReduceScatter, "node-segments", reduceScatterSegments, 0},

	{message.ReduceScatterBlock, "node-small", reduceScatterSmall, 0},
	{message.ReduceScatterBlock, "node-segments", reduceScatterSegments, 0},

	{message.AllGatherV, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherSmall(c.Send, c.Recv, c.RecvParts)
	}, 0},
	{message.AllGatherV, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherPipeline(c.Send, c.Recv, c.RecvParts)
	}, 0},

	{message.GatherV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.GatherVSlots(&g.peer, c.Send, c.Recv, c.RecvParts, c.Root)
	}, 0},
	{message.ScatterV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.ScatterVSlots(&g.peer, c.Send, c.SendParts, c.Recv, c.Root)
	}, 0},
	{message.AllToAllV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.AllToAllVSlots(&g.peer, c, pipelineMax)
	}, message.Apart},

	{message.Scan, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.ScanSmall(c.Send, c.Recv, c.Reduction) }, 0},
	{message.Scan, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ScanPipeline(c.Send, c.Recv, c.Reduction)
	}, 0},
	{message.ExScan, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ExScanSmall(c.Send, c.Recv, c.Reduction)
	}, 0},
	{message.ExScan, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ExScanPipeline(c.Send, c.Recv, c.Reduction)
	}, 0},
}

func reduceScatterSmall(_ *group, n *node.Group, c *message.Call) error {
	return n.ReduceScatterSmall(c.Send, c.Recv, c.SendParts, c.Reduction)
}

func reduceScatterSegments(_ *group, n *node.Group, c *message.Call) error {
	return n.ReduceScatterSegments(c.Send, c.Recv, c.SendParts, c.Reduction)
}

// bcastPair is one message, which both ends copy at the same time if possible. Both ranks
// exchange their calls first: only if they are equal will the message be received.
func bcastPair(g *group, n *node.Group, c *message.Call) error {
	if err := n.BarrierFlags(); err != nil {
		return err
	}
	return message.BcastBinomial(&g.peer, c)
}

// allToAllPull reads the members' blocks in place. The first call finds out whether that is
// possible.
func allToAllPull(_ *group, n *node.Group, c *message.Call) error {
	ok, err := n.CanPull()
	if err != nil {
		return err
	}
	if !ok {
		return errUnreadable
	}
	return n.AllToAllPull(c.Send, c.Recv)
}

// run carries out a blocking call that was announced.
func (g *group) run(k *call) error {
	s := g.situation(k)
	r := g.take(&s)
	g.call = k.Call
	separate(&g.call, r, &g.copied)
	if r.levels != nil {
		return r.levels(g.levels, &g.call)
	}
	if r.near == nil {
		return r.message.Run(&g.peer, &g.call)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if err := r.near(g, n, &g.call); !errors.Is(err, errUnreadable) {
		return err
	}
	g.unreadable.Store(true) // it and later calls choose another algorithm
	return g.run(k)
}

package collectives

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// nearby is an algorithm for ranks that share memory.
type nearby struct {
	op   message.Operation
	name string
	run  func(g *group, n *node.Group, c *message.Call) error
	// limits are the restrictions of the algorithm, as in message.Algorithm.
	limits message.Limits
	// regroups is true if the algorithm does not combine the operands of a reduction from left to
	// right.
	regroups bool
}

// errUnreadable is the error of an algorithm that cannot read the members' private memory.
var errUnreadable = errors.New("private memory of other ranks cannot be read")

// nearbys are the algorithms for ranks that share memory: the algorithms of package node, whose
// reductions combine from left to right, the algorithms of package message for two ranks (paired), and
// the algorithms of package tier for the domains of one node (byDomain).
var nearbys = append([]nearby{
	{message.Barrier, "node-flags", func(_ *group, n *node.Group, _ *message.Call) error { return n.BarrierFlags() }, 0, false},
	{message.Barrier, "node-counter", func(_ *group, n *node.Group, _ *message.Call) error { return n.BarrierCounter() }, 0, false},

	{message.Bcast, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.BcastSmall(c.Recv, c.Root) }, 0, false},
	{message.Bcast, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.BcastPipeline(c.Recv, c.Root) }, 0, false},
	{message.Bcast, "node-pull", pulls(func(n *node.Group, c *message.Call) error { return n.BcastPull(c.Recv, c.Root) }), 0, false},
	{message.Bcast, "node-pair", paired(message.BcastBinomial), 0, false},

	{message.Reduce, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ReduceSmall(c.Send, c.Recv, c.Root, c.Reduction)
	}, 0, false},
	{message.Reduce, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ReducePipeline(c.Send, c.Recv, c.Root, c.Reduction)
	}, 0, false},
	{message.Reduce, "node-segments", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ReduceSegments(c.Send, c.Recv, c.Root, c.Reduction)
	}, 0, false},

	{message.Reduce, "node-pull", pulls(func(n *node.Group, c *message.Call) error {
		return n.ReducePull(c.Send, c.Recv, c.Root, c.Reduction)
	}), 0, false},

	{message.AllReduce, "node-exchange", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceExchange(c.Send, c.Recv, c.Reduction)
	}, 0, false},
	{message.AllReduce, "node-counter", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceCounter(c.Send, c.Recv, c.Reduction)
	}, 0, false},
	{message.AllReduce, "node-pair", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReducePair(c.Send, c.Recv, c.Reduction)
	}, 0, false},
	{message.AllReduce, "node-segments", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllReduceSegments(c.Send, c.Recv, c.Reduction)
	}, 0, false},

	{message.Gather, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.GatherSmall(c.Send, c.Recv, c.Root) }, 0, false},
	{message.Gather, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.GatherPipeline(c.Send, c.Recv, c.Root) }, 0, false},

	{message.Gather, "node-pull", pulls(func(n *node.Group, c *message.Call) error { return n.GatherPull(c.Send, c.Recv, c.Root) }), 0, false},
	{message.Gather, "node-pair", paired(message.GatherVLinear), 0, false},

	{message.Scatter, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.ScatterSmall(c.Send, c.Recv, c.Root) }, 0, false},
	{message.Scatter, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.ScatterPipeline(c.Send, c.Recv, c.Root) }, 0, false},

	{message.Scatter, "node-pull", pulls(func(n *node.Group, c *message.Call) error { return n.ScatterPull(c.Send, c.Recv, c.Root) }), 0, false},

	{message.AllGather, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherSmall(c.Send, c.Recv, c.RecvParts)
	}, 0, false},
	{message.AllGather, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherPipeline(c.Send, c.Recv, c.RecvParts)
	}, 0, false},

	{message.AllGather, "node-pull", allGatherPull, 0, false},

	{message.AllToAll, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.AllToAllSmall(c.Send, c.Recv) }, 0, false},
	{message.AllToAll, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error { return n.AllToAllPipeline(c.Send, c.Recv) }, message.Apart, false},
	{message.AllToAll, "node-pull", pulls(func(n *node.Group, c *message.Call) error { return n.AllToAllPull(c.Send, c.Recv) }), message.Apart, false},

	{message.ReduceScatter, "node-small", reduceScatterSmall, 0, false},
	{message.ReduceScatter, "node-segments", reduceScatterSegments, 0, false},

	{message.ReduceScatterBlock, "node-small", reduceScatterSmall, 0, false},
	{message.ReduceScatterBlock, "node-segments", reduceScatterSegments, 0, false},

	{message.AllGatherV, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherSmall(c.Send, c.Recv, c.RecvParts)
	}, 0, false},
	{message.AllGatherV, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.AllGatherPipeline(c.Send, c.Recv, c.RecvParts)
	}, 0, false},

	{message.AllGatherV, "node-pull", allGatherPull, 0, false},

	{message.GatherV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.GatherVSlots(&g.peer, c.Send, c.Recv, c.RecvParts, c.Root)
	}, 0, false},
	{message.ScatterV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.ScatterVSlots(&g.peer, c.Send, c.SendParts, c.Recv, c.Root)
	}, 0, false},
	{message.AllToAllV, "node-slots", func(g *group, n *node.Group, c *message.Call) error {
		return n.AllToAllVSlots(&g.peer, c, func(longest int) (node.LongParts, error) { return g.longParts(n, longest) })
	}, message.Apart, false},

	{message.Scan, "node-small", func(_ *group, n *node.Group, c *message.Call) error { return n.ScanSmall(c.Send, c.Recv, c.Reduction) }, 0, false},
	{message.Scan, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ScanPipeline(c.Send, c.Recv, c.Reduction)
	}, 0, false},
	{message.ExScan, "node-small", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ExScanSmall(c.Send, c.Recv, c.Reduction)
	}, 0, false},
	{message.ExScan, "node-pull", pulls(func(n *node.Group, c *message.Call) error { return n.ExScanPull(c.Send, c.Recv) }), 0, false},
	{message.ExScan, "node-pipeline", func(_ *group, n *node.Group, c *message.Call) error {
		return n.ExScanPipeline(c.Send, c.Recv, c.Reduction)
	}, 0, false},
}, byDomain(message.Barrier), byDomain(message.Bcast), byDomain(message.Reduce), byDomain(message.AllReduce))

// runLevels executes the operation by the algorithm of rule r, which has two or three levels.
func (g *group) runLevels(r *rule) error {
	if r.name == twoLevel {
		return r.levels(g.levels, &g.call)
	}
	n, err := g.openDeep()
	if err != nil {
		return err
	}
	if err := r.levels(n, &g.call); err != nil || g.node == nil {
		return err
	}
	return g.node.Agree() // compares the calls in the memory of the whole node, not of a domain
}

func reduceScatterSmall(_ *group, n *node.Group, c *message.Call) error {
	return n.ReduceScatterSmall(c.Send, c.Recv, c.SendParts, c.Reduction)
}

func reduceScatterSegments(_ *group, n *node.Group, c *message.Call) error {
	return n.ReduceScatterSegments(c.Send, c.Recv, c.SendParts, c.Reduction)
}

// paired returns the field run of an algorithm of package message that sends one message between two ranks. If
// the transport supports it, the sender and the receiver copy the message at the same time.
func paired(run func(p message.Peer, c *message.Call) error) func(*group, *node.Group, *message.Call) error {
	return func(g *group, _ *node.Group, c *message.Call) error { return run(&g.peer, c) }
}

// allGatherPull is the field run of the algorithm node-pull for AllGather and for AllGatherV.
var allGatherPull = pulls(func(n *node.Group, c *message.Call) error { return n.AllGatherPull(c.Send, c.Recv, c.RecvParts) })

// pulls returns the field run of an algorithm that reads the members' private memory. In the first call
// of such an algorithm, the members find out together whether all of them can read this memory. If
// not, every call of the algorithm returns errUnreadable.
func pulls(run func(n *node.Group, c *message.Call) error) func(*group, *node.Group, *message.Call) error {
	return func(_ *group, n *node.Group, c *message.Call) error {
		ok, err := n.CanPull()
		if err != nil {
			return err
		}
		if !ok {
			return errUnreadable
		}
		return run(n, c)
	}
}

// chooseLongParts chooses how an AllToAllV on this node copies the parts that are not in a slot. The argument longest
// is the length in bytes of the longest of these parts. The choice is that of an AllToAll with blocks of this length,
// without regard to GORUN_COLL.
func (g *group) chooseLongParts(n *node.Group, longest int) (node.LongParts, error) {
	s := g.situation(&call{op: message.AllToAll, block: longest})
	r := choose(&s, automatic, g.table.Load())
	switch {
	case g.unmeasured(r):
		if err := g.weigh(n); err != nil {
			return 0, err
		}
		return g.chooseLongParts(n, longest)
	case r.near == nil:
		return node.ByMessages, nil
	case r.must&readable == 0:
		return node.BySegments, nil
	}
	able, err := n.CanPull()
	if able || err != nil {
		return node.ByReads, err
	}
	g.cannotPull()
	return g.chooseLongParts(n, longest)
}

// separate copies c.Send if the caller has passed the same slice as Send and Recv, and the algorithm
// of r needs two different slices. The copy is in *room, which grows as needed.
func separate(c *message.Call, r *rule, room *[]byte) {
	if r.limits&message.Apart == 0 {
		return
	}
	if same, _ := kernel.Overlap(c.Send, c.Recv); same {
		*room = append((*room)[:0], c.Send...)
		c.Send = *room
	}
}

// run executes a blocking call that the method begin has started.
func (g *group) run(k *call) error {
	r := g.rule(k)
	g.call = k.Call
	separate(&g.call, r, &g.copied)
	if r.near == nil || k.block > g.smallMax {
		g.record()
	}
	if r.levels != nil {
		return g.runLevels(r)
	}
	if r.near == nil {
		return r.message.Run(&g.peer, &g.call)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if g.unmeasured(r) {
		if err := g.weigh(n); err != nil {
			return err
		}
		if g.slower.Load() {
			return g.run(k)
		}
	}
	if err := r.near(g, n, &g.call); err == nil || !errors.Is(err, errUnreadable) {
		return err
	}
	g.cannotPull()
	return g.run(k)
}

// runUser is run for a reduction whose operator is a result of Func, MinLoc or MaxLoc.
func (g *group) runUser(k *call) error {
	return guard(func() error { return g.run(k) }, func(why error) { _ = g.end(k, why) })
}

// errOperator is the error with which an operation ends, and breaks the communicator, if the user's operator panics.
var errOperator = errors.New("the operator panicked")

// guard calls run, which executes an operation. If the user's operator panics, guard calls abandon with
// errOperator. The function abandon breaks the communicator, because the other members would otherwise wait
// for this member.
func guard(run func() error, abandon func(why error)) error {
	returned := false
	defer func() {
		if !returned {
			abandon(errOperator)
		}
	}()
	err := run()
	returned = true
	return err
}

// cannotPull makes this call, and later calls, choose an algorithm that does not read private memory.
func (g *group) cannotPull() {
	g.unreadable.Store(true)
	g.chosen = chosen{}
}

// unmeasured reports whether rule r depends on what weigh measures, and weigh has not measured it yet.
func (g *group) unmeasured(r *rule) bool {
	return !g.weighed && r.best&quicker != 0 && r.must&readable != 0
}

// weigh measures whether two members exchange long blocks faster by reading private memory. The
// members measure it in the first operation whose algorithm depends on the result.
func (g *group) weigh(n *node.Group) error {
	faster, err := n.PullsFaster()
	g.slower.Store(!faster)
	g.weighed, g.chosen = true, chosen{}
	return err
}

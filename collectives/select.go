package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
)

// situation holds what the choice of an algorithm depends on.
type situation struct {
	op message.Operation
	// bytes is the length of one rank's contribution or block.
	bytes int
	// elem is the size of an element of a reduction in bytes, 0 for other operations.
	elem int
	// commutative is true if the operator commutes, or if the operation has no operator.
	commutative bool
	ranks       int
	// fixed: a reduction must combine from left to right.
	fixed bool
	// near: all ranks share memory. crowded: the ranks of this node outnumber its processors.
	near, crowded bool
	// cramped: crowded is true, and the ranks of this node share at most crampedMax processors.
	cramped bool
	// nested: several ranks share a node, but not all ranks do. inOrder: nested is true, and the ranks of each
	// node precede the ranks of the next node.
	nested, inOrder bool
	// spread: the ranks of this node are in several domains (see domains), and at least one domain has
	// several ranks.
	spread bool
	// perNode is the largest number of ranks on a node.
	perNode int
	// readable: ranks can read each other's private memory, or have not yet tried to read it.
	readable bool
	// apart: there are two ranks, each has a processor, and the two processors have no common cache.
	apart bool
	// pulls: there are two ranks with processors of their own, and they exchange long blocks faster by reading
	// private memory than through shared memory. pulls is also true if they have not yet measured which is faster.
	pulls bool
	// smallMax, elemMax and laneMax are the results of node.Limits, in bytes.
	smallMax, elemMax, laneMax int
}

// A need is a condition on the situation. The conditions free, crowd, cramped, whole, laned, readable, far, quicker and
// spread concern this node. Ranks of other nodes may see them differently, so only algorithms for ranks that share
// memory may depend on them. If members chose different algorithms, they would wait for each other for ever.
type need uint32

const (
	near        need = 1 << iota // all ranks share memory
	free                         // every rank has a processor
	crowd                        // ranks share processors
	cramped                      // ranks share at most crampedMax processors
	commutative                  // the operator commutes, or there is no operator
	fits                         // a contribution fits into a slot
	allFit                       // the blocks of all ranks fit into a slot
	two                          // exactly two ranks
	quad                         // at most four ranks
	few                          // at most flatMax ranks
	many                         // more than linearMax ranks
	flagged                      // the barrier has a flag for every round
	whole                        // an element fits into a segment
	laned                        // an element fits into the part of a segment that each member has
	listed                       // a slot has room for a table of the members
	power                        // the number of ranks is a power of two
	anyOrder                     // a reduction need not combine from left to right
	readable                     // ranks can read each other's private memory
	nested                       // several ranks share a node, but not all ranks do
	inOrder                      // the ranks of each node precede the ranks of the next node
	far                          // two ranks whose processors have no common cache
	quicker                      // two ranks that exchange long blocks faster by reading private memory
	spread                       // ranks are in several domains of their node
	asked                        // never holds: the algorithm is taken only if GORUN_COLL or a Table names it
)

// flatMax is the largest group in which, in a small allreduce on a node, every rank combines all contributions. In
// larger groups one shared counter costs less than a cache line for each member. By messages, groups of up to flatMax
// ranks gather and scatter blocks of any length without a tree.
const flatMax = 8

// linearMax is the largest group in which exchanging short blocks directly between root and each rank
// takes less time than along a tree, according to bench/simulate.
const linearMax = 40

// pipelineMax is the length in bytes up to which a block of an all-to-all on a node is copied through shared
// memory in segments, that is, twice. A longer block is copied once, from the peer's private memory. This copy costs a
// system call, and the kernel's work on each page (docs/adr/0030). Two ranks that have processors of their own
// exchange blocks of any length through shared memory (docs/adr/0053), except as apartMax says. Ranks that share
// processors send blocks above apartMax as messages (docs/adr/0074).
const pipelineMax = 64 << 10

// crampedMax is the largest number of processors at which a reduce of ranks that share them is fastest if root
// combines all contributions. On more processors, the ranks save more time by combining shares at the same time than
// they spend on waiting for each other (docs/adr/0075).
const crampedMax = 4

// apartMax is used in place of pipelineMax for two ranks whose processors have no common cache (docs/adr/0054), or
// that exchange long blocks faster by reading private memory (docs/adr/0059). It applies to other operations, too.
const apartMax = 32 << 10

// rootPullMax is used in place of apartMax for a scatter between two ranks that have a common cache and exchange long
// blocks faster by reading private memory. Up to this length, a copy through shared memory is faster if root has just
// written the blocks (docs/adr/0059).
// If blocks have more than crowdedRootMax bytes, ranks that share processors scatter and broadcast them by reading
// root's private memory (docs/adr/0070).
const rootPullMax, crowdedRootMax = 256 << 10, 8 << 10

// pairMin is a length in bytes for two ranks that exchange long blocks faster by reading private memory. Above this
// length they broadcast and gather by one message. Up to this length, the message is slower if its buffer has just
// been written (docs/adr/0064).
const pairMin = 512 << 10

// once, measured, byBoth and unhindered are texts of Explain for algorithms that copy from private memory of a rank.
const (
	once       = "caches are far apart: every byte crosses once"
	measured   = "every byte crosses once, if the first such call measures that to be faster"
	unhindered = "ranks share processors: each rank copies once, without waiting for others that read"
	byBoth     = "both ends of one message copy it once, if the first such call measures that to be faster"
)

// holds returns the conditions that hold.
func (s *situation) holds() need {
	return near.when(s.near) | free.when(!s.crowded) | crowd.when(s.crowded) | cramped.when(s.cramped) | commutative.when(s.commutative) |
		fits.when(s.bytes <= s.smallMax) | allFit.when(s.bytes*s.ranks <= s.smallMax) |
		two.when(s.ranks == 2) | quad.when(s.ranks <= 4) | few.when(s.ranks <= flatMax) | many.when(s.ranks > linearMax) | flagged.when(s.ranks <= node.FlagsMax) |
		whole.when(s.elem <= s.elemMax) | laned.when(s.elem <= s.laneMax) | listed.when(s.ranks <= node.TableMax) | power.when(s.ranks&(s.ranks-1) == 0) | readable.when(s.readable) |
		nested.when(s.nested) | inOrder.when(s.inOrder) | anyOrder.when(!s.fixed) | spread.when(s.spread) | far.when(s.apart) |
		quicker.when(s.pulls)
}

// when returns n if ok is true, otherwise 0.
func (n need) when(ok bool) need {
	if ok {
		return n
	}
	return 0
}

// line is a line of the variable table: an algorithm and the conditions under which it is best.
type line struct {
	op   message.Operation
	name string
	// must are the conditions, in addition to the algorithm's limits, that the algorithm needs for a correct
	// result. best are the conditions under which it is the fastest.
	must, best need
	// most is the largest number of bytes for which the algorithm is best; 0 means any number.
	most int
	why  string
}

// rule is a line with its algorithm: one of near, levels and message is set, the others are nil.
type rule struct {
	line
	limits  message.Limits
	near    func(g *group, n *node.Group, c *message.Call) error
	levels  func(n *tier.Nested, c *message.Call) error
	message *message.Algorithm
}

// table has the rules of each operation. The built-in choice is the first rule whose conditions hold. The last rule
// of each operation has no conditions. The choice among the message algorithms follows that of MPICH (Thakur,
// Rabenseifner, Gropp 2005), partly with other lengths.
var table = resolve([]line{
	{message.Barrier, "node-flags", flagged, free, 0, "one cache line per round"},
	{message.Barrier, "node-counter", 0, 0, 0, "one switch per rank"},
	{message.Barrier, inDomains, 0, asked, 0, "one rank of each domain of the node waits for the others"},
	{message.Barrier, threeLevel, 0, asked, 0, "one rank of each node sends, one of each domain waits for the others"},
	{message.Barrier, twoLevel, 0, 0, 0, "one rank of each node sends"},
	{message.Barrier, "dissemination", 0, two, 0, "two ranks send to each other at the same time"},
	{message.Barrier, "k-nomial", 0, quad, 0, "few ranks: fewest messages, in as many rounds"},
	{message.Barrier, "dissemination", 0, 0, 0, "ranks on several nodes"},

	{message.Bcast, "node-small", fits, 0, 0, "data and flag are in one cache line"},
	{message.Bcast, "node-pipeline", 0, 0, crowdedRootMax, "readers copy from root's memory while it writes"},
	{message.Bcast, "node-pipeline", 0, free, apartMax, "readers copy from root's memory while it writes"},
	{message.Bcast, "node-pull", readable, far, 0, once},
	{message.Bcast, "node-pipeline", 0, quicker, pairMin, "readers copy from root's memory while it writes"},
	{message.Bcast, "node-pair", readable | two, quicker, 0, byBoth},
	{message.Bcast, "node-pipeline", 0, free, 0, "readers copy from root's memory while it writes"},
	{message.Bcast, "node-pull", readable, 0, 0, unhindered},
	{message.Bcast, "node-pipeline", 0, 0, 0, "readers copy from root's memory while it writes"},
	{message.Bcast, "binomial", 0, inOrder, 32 << 10, "short: fewest messages, few of them between nodes"},
	{message.Bcast, inDomains, 0, asked, 0, "data crosses to a domain of the node once"},
	{message.Bcast, threeLevel, 0, asked, 0, "data crosses to a node and to a domain once"},
	{message.Bcast, twoLevel, 0, 0, 0, "data crosses to a node once"},
	{message.Bcast, "k-nomial", 0, quad, 64 << 10, "short and few ranks: root sends to every rank"},
	{message.Bcast, "binomial", 0, 0, 32 << 10, "short: fewest messages"},
	{message.Bcast, "binomial", 0, quad, 1 << 20, "few ranks: other algorithms send almost as many bytes, in more messages"},
	{message.Bcast, "scatter-doubling", 0, asked, 0, "every rank sends a share, in few messages"},
	{message.Bcast, "chain", 0, asked, 0, "every byte leaves a rank once"},
	{message.Bcast, "scatter-allgather", 0, 0, 0, "long: every rank sends a share"},

	{message.Reduce, "node-small", fits, 0, 0, "root reads the contributions in place"},
	{message.Reduce, "node-pipeline", whole, cramped, 0, "ranks share few processors: root alone waits for others, and combines in place"},
	{message.Reduce, "node-pipeline", whole, two, apartMax, "root combines in place while the other rank writes"},
	{message.Reduce, "node-pull", readable | two, far, 0, once},
	{message.Reduce, "node-pipeline", whole, two, 0, "root combines in place while the other rank writes"},
	{message.Reduce, "node-segments", whole, 0, 0, "every rank combines a share in place"},
	{message.Reduce, "binomial", 0, inOrder, 0, "fewest messages, few of them between nodes"},
	{message.Reduce, inDomains, 0, asked, 0, "each domain of the node combines alone first"},
	{message.Reduce, threeLevel, commutative, asked, 0, "each domain combines alone first, then each node"},
	{message.Reduce, twoLevel, commutative, 0, 0, "one rank of each node sends"},
	{message.Reduce, twoLevel, inOrder, 0, 0, "one rank of each node sends, in the order of the ranks"},
	{message.Reduce, "binomial", 0, 0, 0, "fewest messages"},
	{message.Reduce, "rabenseifner", 0, asked, 0, "every rank combines a share"},
	{message.Reduce, "ordered", 0, 0, 0, "the operator does not commute"},
	{message.Reduce, "in-order", 0, 0, 0, "from left to right, as GORUN_REPRODUCIBLE requires"},

	{message.AllReduce, "node-exchange", fits, free | few, 0, "every rank combines all contributions"},
	{message.AllReduce, "node-counter", fits, 0, 0, "the last rank to arrive combines: one switch per rank"},
	{message.AllReduce, "node-pair", whole | two, 0, 0, "two ranks combine straight into recv"},
	{message.AllReduce, "node-segments", whole, 0, 0, "every rank combines a share in place"},
	{message.AllReduce, inDomains, 0, asked, 0, "each domain of the node combines alone first"},
	{message.AllReduce, threeLevel, commutative, asked, 0, "each domain combines alone first, then each node"},
	{message.AllReduce, twoLevel, commutative, 0, 0, "one rank of each node sends"},
	{message.AllReduce, twoLevel, inOrder, 0, 0, "one rank of each node sends, in the order of the ranks"},
	{message.AllReduce, "recursive-doubling", 0, 0, 8 << 10, "short: fewest messages"},
	{message.AllReduce, "recursive-doubling", 0, quad, 32 << 10, "few ranks: other algorithms send almost as many bytes, in more messages"},
	{message.AllReduce, "rabenseifner", 0, 0, 512 << 10, "every byte travels about twice"},
	{message.AllReduce, "rabenseifner", 0, quad, 0, "few ranks: every byte travels about twice, in few messages"},
	{message.AllReduce, "ring", 0, 0, 0, "long: neighbors only"},
	{message.AllReduce, "recursive-doubling", 0, 0, 0, "the operator does not commute"},
	{message.AllReduce, "in-order", 0, 0, 0, "from left to right, as GORUN_REPRODUCIBLE requires"},

	{message.ReduceScatter, "node-small", allFit, 0, 0, "every rank reads what it combines in place"},
	{message.ReduceScatter, "node-segments", laned, 0, 0, "every rank combines its part in place"},
	{message.ReduceScatter, "halving", 0, quad, 64 << 10, "few ranks: fewest messages"},
	{message.ReduceScatter, "pairwise", 0, 0, 0, "straight to the rank that needs it"},
	{message.ReduceScatter, "pat", 0, asked, 0, "few messages, the longest to near ranks"},
	{message.ReduceScatter, "ring", 0, asked, 0, "neighbors only"},
	{message.ReduceScatter, "in-order", 0, 0, 0, "the operands stay in order"},

	{message.ReduceScatterBlock, "node-small", allFit, 0, 0, "every rank reads what it combines in place"},
	{message.ReduceScatterBlock, "node-segments", laned, 0, 0, "every rank combines its part in place"},
	{message.ReduceScatterBlock, "halving", 0, quad, 64 << 10, "few ranks: fewest messages"},
	{message.ReduceScatterBlock, "pairwise", 0, 0, 0, "straight to the rank that needs it"},
	{message.ReduceScatterBlock, "pat", 0, asked, 0, "few messages, the longest to near ranks"},
	{message.ReduceScatterBlock, "ring", 0, asked, 0, "neighbors only"},
	{message.ReduceScatterBlock, "in-order", 0, 0, 0, "the operands stay in order"},

	{message.Gather, "node-small", fits, 0, 0, "root reads the contributions in place"},
	{message.Gather, "node-pipeline", 0, 0, apartMax, "root reads the contributions while they are written"},
	{message.Gather, "node-pull", readable, far, 0, once},
	{message.Gather, "node-pipeline", 0, quicker, pairMin, "root reads the contributions while they are written"},
	{message.Gather, "node-pair", readable | two, quicker, 0, byBoth},
	{message.Gather, "node-pipeline", 0, 0, 0, "root reads the contributions while they are written"},
	{message.Gather, twoLevel, 0, 0, 0, "one rank of each node sends"},
	{message.Gather, "linear", 0, few, 0, "few messages at root"},
	{message.Gather, "binomial", 0, many, 32 << 10, "few messages at root"},
	{message.Gather, "linear", 0, 0, 8 << 10, "every contribution travels once"},
	{message.Gather, "binomial", 0, 0, 32 << 10, "few messages at root"},
	{message.Gather, "linear", 0, 0, 0, "long: every contribution travels once"},

	{message.GatherV, "node-slots", 0, 0, 0, "short blocks lie in the slots, beside their lengths"},
	{message.GatherV, "binomial", 0, many, 0, "few messages at root; long contributions go straight"},
	{message.GatherV, "linear", 0, 0, 0, "root alone knows the lengths"},

	{message.Scatter, "node-small", allFit, 0, 0, "each rank reads its block in place"},
	{message.Scatter, "node-pipeline", 0, 0, crowdedRootMax, "each rank reads its block while root writes"},
	{message.Scatter, "node-pipeline", 0, free, apartMax, "each rank reads its block while root writes"},
	{message.Scatter, "node-pull", readable, far, 0, once},
	{message.Scatter, "node-pipeline", 0, quicker, rootPullMax, "each rank reads its block while root writes"},
	{message.Scatter, "node-pull", readable, quicker, 0, measured},
	{message.Scatter, "node-pipeline", 0, free, 0, "each rank reads its block while root writes"},
	{message.Scatter, "node-pull", readable, 0, 0, unhindered},
	{message.Scatter, "node-pipeline", 0, 0, 0, "each rank reads its block while root writes"},
	{message.Scatter, twoLevel, 0, 0, 0, "one rank of each node sends"},
	{message.Scatter, "linear", 0, few, 0, "few messages at root"},
	{message.Scatter, "binomial", 0, many, 32 << 10, "few messages at root"},
	{message.Scatter, "linear", 0, 0, 8 << 10, "every block travels once"},
	{message.Scatter, "binomial", 0, 0, 32 << 10, "few messages at root"},
	{message.Scatter, "linear", 0, 0, 0, "long: every block travels once"},

	{message.ScatterV, "node-slots", listed, 0, 0, "short blocks lie in the slots, beside their lengths"},
	{message.ScatterV, "binomial", 0, many, 0, "few messages at root; long parts go straight"},
	{message.ScatterV, "linear", 0, 0, 0, "root alone knows the lengths"},

	{message.AllGather, "node-small", fits, 0, 0, "every rank reads all contributions in place"},
	{message.AllGather, "node-pipeline", 0, 0, apartMax, "every rank reads the contributions while they are written"},
	{message.AllGather, "node-pull", readable, far, 0, once},
	{message.AllGather, "node-pull", readable, quicker, 0, measured},
	{message.AllGather, "node-pipeline", 0, 0, 0, "every rank reads the contributions while they are written"},
	{message.AllGather, twoLevel, 0, 0, 0, "one rank of each node sends"},
	{message.AllGather, "recursive-doubling", 0, 0, 8 << 10, "short: fewest messages"},
	{message.AllGather, "bruck", 0, 0, 8 << 10, "short: fewest messages"},
	{message.AllGather, "recursive-doubling", 0, quad, 16 << 10, "few ranks: fewest messages"},
	{message.AllGather, "direct", 0, quad, 512 << 10, "few ranks: every rank waits once"},
	{message.AllGather, "pat", 0, asked, 0, "long messages go to near ranks"},
	{message.AllGather, "ring", 0, 0, 0, "long: neighbors only"},

	{message.AllGatherV, "node-small", fits, 0, 0, "every rank reads all contributions in place"},
	{message.AllGatherV, "node-pipeline", 0, 0, apartMax, "every rank reads the contributions while they are written"},
	{message.AllGatherV, "node-pull", readable, far, 0, once},
	{message.AllGatherV, "node-pull", readable, quicker, 0, measured},
	{message.AllGatherV, "node-pipeline", 0, 0, 0, "every rank reads the contributions while they are written"},
	{message.AllGatherV, "bruck", 0, quad, 16 << 10, "short and few ranks: fewest messages"},
	{message.AllGatherV, "direct", 0, quad, 512 << 10, "few ranks: every rank waits once"},
	{message.AllGatherV, "pat", 0, asked, 0, "few messages, the longest to near ranks"},
	{message.AllGatherV, "ring", 0, 0, 0, "neighbors only"},

	{message.AllToAll, "node-small", allFit, 0, 0, "every rank reads its blocks in place"},
	{message.AllToAll, "node-pipeline", 0, 0, apartMax, "every rank reads its blocks while they are written"},
	{message.AllToAll, "node-pull", readable, far, 0, once},
	{message.AllToAll, "node-pull", readable, quicker, 0, measured},
	{message.AllToAll, "node-pipeline", 0, two | free, 0, "every rank reads its blocks while they are written"},
	{message.AllToAll, "scattered", 0, near | readable | crowd, 0, "ranks share processors: every rank waits once, each block is copied once"},
	{message.AllToAll, "node-pipeline", 0, 0, pipelineMax, "every rank reads its blocks while they are written"},
	{message.AllToAll, "node-pull", readable, 0, 0, "long: every rank reads its blocks in place, copied once"},
	{message.AllToAll, twoLevel, 0, 0, 256, "short: one rank of each node sends"},
	{message.AllToAll, "bruck", 0, 0, 256, "short: fewest messages"},
	{message.AllToAll, "bruck", 0, quad, 1 << 10, "short and few ranks: fewest messages"},
	{message.AllToAll, "scattered", 0, quad, 0, "few ranks: every rank waits once"},
	{message.AllToAll, "pairwise", 0, 0, 0, "long: straight into recv, copied once instead of twice"},

	{message.AllToAllV, "node-slots", listed, 0, 0, "short blocks lie in the slots, beside their lengths"},
	{message.AllToAllV, "bruck", 0, asked, 0, "short: fewest messages"},
	{message.AllToAllV, "scattered", 0, quad, 0, "few ranks: every rank waits once"},
	{message.AllToAllV, "pairwise", 0, 0, 0, "straight into recv"},

	{message.Scan, "node-small", fits, 0, 0, "every rank reads the contributions before its own in place"},
	{message.Scan, "node-pipeline", whole, 0, 0, "every rank adds to what the one before it has combined"},
	{message.Scan, "chain", 0, quad, 0, "few ranks: fewest messages"},
	{message.Scan, "recursive-doubling", 0, 0, 0, "fewest rounds"},
	{message.Scan, "tree", 0, asked, 0, "fewest messages in all"},
	{message.Scan, "pipeline", 0, asked, 0, "from left to right, in segments"},
	{message.Scan, "chain", 0, 0, 0, "from left to right, as GORUN_REPRODUCIBLE requires"},

	{message.ExScan, "node-small", fits, 0, 0, "every rank reads the contributions before its own in place"},
	{message.ExScan, "node-pipeline", whole, 0, apartMax, "every rank adds to what the one before it has combined"},
	{message.ExScan, "node-pull", readable | two, far, 0, once},
	{message.ExScan, "node-pipeline", whole, 0, 0, "every rank adds to what the one before it has combined"},
	{message.ExScan, "chain", 0, quad, 0, "few ranks: fewest messages"},
	{message.ExScan, "recursive-doubling", 0, 0, 0, "fewest rounds"},
	{message.ExScan, "tree", 0, asked, 0, "fewest messages in all"},
	{message.ExScan, "chain", 0, 0, 0, "from left to right, as GORUN_REPRODUCIBLE requires"},

	{message.NeighborAllGather, "distance", 0, 0, 0, "one message for each neighbor"},
	{message.NeighborAllGatherV, "distance", 0, 0, 0, "one message for each neighbor"},
	{message.NeighborAllToAll, "distance", 0, 0, 0, "one message for each neighbor"},
	{message.NeighborAllToAllV, "distance", 0, 0, 0, "one message for each neighbor"},
})

// resolve finds the algorithm of each line, and adds to must the conditions under which the
// algorithm works.
func resolve(lines []line) []rule {
	rules := make([]rule, len(lines))
	for i, l := range lines {
		r, regroups := rule{line: l}, false
		for _, n := range nearbys {
			if n.op == l.op && n.name == l.name {
				r.near, r.limits = n.run, n.limits
				r.must |= near
				regroups = n.regroups
			}
		}
		if l.name == inDomains {
			r.must |= spread
		}
		if l.name == twoLevel || l.name == threeLevel {
			r.levels = leveled[l.op]
			r.must |= nested
		}
		if r.near == nil && r.levels == nil {
			if r.message = message.Find(l.op, l.name); r.message == nil {
				panic(fmt.Sprintf("no algorithm %s of %v", l.name, l.op))
			}
			r.limits = r.message.Limits
		}
		leftToRight := r.near != nil && !regroups || r.message != nil && r.message.LeftToRight
		r.must |= commutative.when(r.limits&message.Commutes != 0) | power.when(r.limits&message.PowerOfTwo != 0) |
			anyOrder.when(l.op.Reduces() && !leftToRight)
		rules[i] = r
	}
	return rules
}

// first[op] is the index in table of the first rule of op; the rules end before first[op+1].
var first = func() (at [message.Operations + 1]int) {
	next := len(table)
	for op := message.Operations; ; op-- {
		for next > 0 && table[next-1].op >= op {
			next--
		}
		at[op] = next
		if op == 0 {
			return at
		}
	}
}()

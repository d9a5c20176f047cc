package collectives

import "github.com/gorun-hpc/gorun/collectives/internal/node"

// situation is what the choice of an algorithm depends on.
type situation struct {
	op operation
	// bytes is the length of one rank's contribution or block.
	bytes int
	// elem is the size of an element of a reduction, else 0.
	elem int
	// commutative is a property of the operator, true where there is none.
	commutative bool
	ranks       int
	// near: all ranks share memory. crowded: ranks outnumber processors.
	near, crowded bool
	// readable: ranks can read each other's private memory, or have not tried yet.
	readable bool
	// smallMax and elemMax are the limits of the algorithms of package node in bytes.
	smallMax, elemMax int
}

// A need is a condition on the situation.
type need uint16

const (
	near        need = 1 << iota // all ranks share memory
	free                         // every rank has a processor
	commutative                  // the operator commutes
	fits                         // a contribution fits into a slot
	allFit                       // the blocks of all ranks fit into a slot
	two                          // exactly two ranks
	few                          // at most flatMax ranks
	flagged                      // the barrier has a flag for every round
	whole                        // an element fits into a segment
	power                        // the number of ranks is a power of two
	readable                     // ranks can read each other's private memory
)

// flatMax is the largest group in which every rank reads from all others in
// small operations: above it one counter is cheaper than a cache line per member.
const flatMax = 8

// pipelineMax is up to how many bytes a broadcast between two ranks, and a block of an
// all-to-all on a node, go through shared memory, where they are copied twice, in segments:
// to copy them once, from the peer's private memory, costs a system call and its work on each
// page (docs/adr/0030).
const pipelineMax = 64 << 10

// holds returns the conditions that hold.
func (s *situation) holds() need {
	return near.when(s.near) | free.when(!s.crowded) | commutative.when(s.commutative) |
		fits.when(s.bytes <= s.smallMax) | allFit.when(s.bytes*s.ranks <= s.smallMax) |
		two.when(s.ranks == 2) | few.when(s.ranks <= flatMax) | flagged.when(s.ranks <= node.FlagsMax) |
		whole.when(s.elem <= s.elemMax) | power.when(s.ranks&(s.ranks-1) == 0) | readable.when(s.readable)
}

// when returns n if it holds, else nothing.
func (n need) when(ok bool) need {
	if ok {
		return n
	}
	return 0
}

// rule is a line of the table.
type rule struct {
	op  operation
	alg algorithm
	// must are the conditions without which the algorithm gives wrong results;
	// best are those that make it the fastest.
	must, best need
	// most is the largest number of bytes for which it is best, 0 for any.
	most int
	why  string
}

// table is searched from the top for the operation; the first rule whose
// conditions hold is taken. The last one of each operation has none. The limits
// of the message algorithms follow MPICH's (Thakur, Rabenseifner, Gropp 2005).
var table = []rule{
	{opBarrier, flags, near | flagged, free, 0, "one cache line per round"},
	{opBarrier, counter, near, 0, 0, "one switch per rank"},
	{opBarrier, dissemination, 0, 0, 0, "ranks on several nodes"},

	{opBcast, small, near | fits, 0, 0, "data and flag are in one cache line"},
	{opBcast, pipeline, near, 0, pipelineMax, "readers copy from root's memory while it writes"},
	{opBcast, pair, near | two, free | readable, 0, "one message, which is copied once by both ends"},
	{opBcast, pipeline, near, 0, 0, "readers copy from root's memory while it writes"},
	{opBcast, binomial, 0, 0, 32 << 10, "short: fewest messages"},
	{opBcast, scatterAllGather, 0, 0, 0, "long: every rank sends a share"},

	{opReduce, small, near | fits, 0, 0, "root reads the contributions in place"},
	{opReduce, segments, near | whole, 0, 0, "every rank combines a share in place"},
	{opReduce, binomial, commutative, 0, 0, "fewest messages"},
	{opReduce, ordered, 0, 0, 0, "the operator does not commute"},

	{opAllReduce, exchange, near | fits, free | few, 0, "every rank combines all contributions"},
	{opAllReduce, counter, near | fits, 0, 0, "the last rank to arrive combines: one switch per rank"},
	{opAllReduce, pair, near | whole | two, 0, 0, "two ranks combine straight into recv"},
	{opAllReduce, segments, near | whole, 0, 0, "every rank combines a share in place"},
	{opAllReduce, recursiveDoubling, 0, 0, 8 << 10, "short: fewest messages"},
	{opAllReduce, rabenseifner, commutative, 0, 512 << 10, "every byte travels about twice"},
	{opAllReduce, ring, commutative, 0, 0, "long: neighbours only"},
	{opAllReduce, recursiveDoubling, 0, 0, 0, "the operator does not commute"},

	{opGather, small, near | fits, 0, 0, "root reads the contributions in place"},
	{opGather, pipeline, near, 0, 0, "root reads the contributions while they are written"},
	{opGather, binomial, 0, 0, 0, "fewest messages"},

	{opScatter, small, near | allFit, 0, 0, "each rank reads its block in place"},
	{opScatter, pipeline, near, 0, 0, "each rank reads its block while root writes"},
	{opScatter, binomial, 0, 0, 0, "fewest messages"},

	{opAllGather, small, near | fits, 0, 0, "every rank reads all contributions in place"},
	{opAllGather, pipeline, near, 0, 0, "every rank reads the contributions while they are written"},
	{opAllGather, recursiveDoubling, power, 0, 8 << 10, "short: fewest messages"},
	{opAllGather, bruck, 0, 0, 8 << 10, "short: fewest messages"},
	{opAllGather, ring, 0, 0, 0, "long: neighbours only"},

	{opAllToAll, small, near | allFit, 0, 0, "every rank reads its blocks in place"},
	{opAllToAll, pipeline, near, 0, pipelineMax, "every rank reads its blocks while they are written"},
	{opAllToAll, pull, near | readable, 0, 0, "long: every rank reads its blocks in place, copied once"},
	{opAllToAll, bruck, 0, 0, 256, "short: fewest messages"},
	{opAllToAll, pairwise, 0, 0, 0, "long: straight into recv, copied once instead of twice"},
}

// first[op] is where the rules of an operation begin.
var first = func() (at [operations + 1]int) {
	for i := len(table) - 1; i >= 0; i-- {
		at[table[i].op] = i
	}
	at[operations] = len(table)
	return at
}()

// choose returns the rule for a situation. An override has priority if it can serve the
// call.
func choose(s *situation, override algorithm) *rule {
	have := s.holds()
	rules := table[first[s.op]:first[s.op+1]]
	if override != automatic {
		for i := range rules {
			if rules[i].alg == override && have&rules[i].must == rules[i].must {
				return &rules[i]
			}
		}
	}
	for i := range rules {
		r := &rules[i]
		if all := r.must | r.best; have&all == all && (r.most == 0 || s.bytes <= r.most) {
			return r
		}
	}
	return &rules[len(rules)-1]
}

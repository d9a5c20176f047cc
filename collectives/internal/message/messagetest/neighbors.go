package messagetest

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// offsets has the distances from a rank to its neighbors: the rank after it, the rank before it, itself,
// no rank, the rank after it again, and a rank further away.
var offsets = [...]int{1, -1, 0, noNeighbor, 1, 5}

// noNeighbor is the offset for a neighbor that does not exist, for example beyond the border of a
// grid.
const noNeighbor = 1 << 20

// neighbors returns the ranks to which a rank sends if sign is 1, or from which it receives if sign is
// -1. A neighbor that does not exist is -2.
func (k Case) neighbors(rank, sign int) []int {
	list := make([]int, len(offsets))
	for i, offset := range offsets {
		if list[i] = -2; offset != noNeighbor {
			list[i] = ((rank+sign*offset)%k.Ranks + k.Ranks) % k.Ranks
		}
	}
	return list
}

// gathers reports whether a rank sends the same block to all neighbors.
func (k Case) gathers() bool {
	return k.Operation == message.NeighborAllGather || k.Operation == message.NeighborAllGatherV
}

// edgeCount returns the number of elements that a rank, given by from, sends along its edge i.
func (k Case) edgeCount(from, i int) int {
	switch k.Operation {
	case message.NeighborAllGatherV:
		return k.count(from)
	case message.NeighborAllToAllV:
		return k.pairCount(from, i)
	default:
		return k.Elements
	}
}

// neighborLayout returns the layout of a rank in an operation between neighbors.
func (k Case) neighborLayout(rank int) (l layout) {
	sources := k.neighbors(rank, -1)
	n := k.Elements * Elem
	switch k.Operation {
	case message.NeighborAllToAll:
		l.send, l.sendLen = message.Equal(n), n*len(offsets)
	case message.NeighborAllToAllV:
		l.send, l.sendLen = apart(len(offsets), func(i int) int { return k.edgeCount(rank, i) })
	default: // one block for all neighbors
		counts := make([]int, len(offsets))
		for i := range counts {
			counts[i] = k.edgeCount(rank, i)
		}
		l.send, l.sendLen = message.Uneven(counts, make([]int, len(offsets)), Elem), counts[0]*Elem
	}
	if k.Operation == message.NeighborAllGather || k.Operation == message.NeighborAllToAll {
		l.recv, l.recvLen = message.Equal(n), n*len(offsets)
		return l
	}
	l.recv, l.recvLen = apart(len(offsets), func(i int) int { return k.edgeCount(max(0, sources[i]), i) })
	return l
}

// edgeSource returns the argument source of the method data for the block that a rank sends along
// its edge i. The argument from is the number of that rank.
func (k Case) edgeSource(from, i int) int {
	if k.gathers() {
		return from
	}
	return from*len(offsets) + i
}

// neighborSent returns the send buffer of a rank in an operation between neighbors.
func (k Case) neighborSent(rank int, l layout) []byte {
	if k.gathers() {
		return k.data(rank, l.sendLen)
	}
	b := poisoned(l.sendLen)
	for i := range offsets {
		copy(l.send.Of(b, i), k.data(k.edgeSource(rank, i), l.send.Count(i)))
	}
	return b
}

// neighborReceived returns the expected receive buffer of a rank in an operation between neighbors.
func (k Case) neighborReceived(rank int, l layout) []byte {
	b := poisoned(l.recvLen)
	for i, from := range k.neighbors(rank, -1) {
		if from >= 0 {
			copy(l.recv.Of(b, i), k.data(k.edgeSource(from, i), l.recv.Count(i)))
		}
	}
	return b
}

package messagetest

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Case is an operation with its arguments at every rank.
type Case struct {
	Operation message.Operation
	Ranks     int
	// Elements is the number of elements, of Elem bytes each, in a rank's contribution or in a
	// block. In operations with counts it is the largest number of elements in a block.
	Elements int
	Root     int
	Operator Operator
	// InPlace is true if the send and the receive buffer of a rank share the memory that the
	// operation permits them to share.
	InPlace bool
}

// String returns the name of the case.
func (k Case) String() string {
	s := fmt.Sprintf("%v/%d ranks/%d elements", k.Operation, k.Ranks, k.Elements)
	if k.Operation.Rooted() {
		s += fmt.Sprintf("/root %d", k.Root)
	}
	if k.Operation.Reduces() {
		s += "/" + k.Operator.String()
	}
	if k.InPlace {
		s += "/in place"
	}
	return s
}

// Cases returns the cases of an algorithm for a number of ranks. The cases have different operators
// and roots. If the algorithm permits it, some of them are in place. If the algorithm does not work
// for that number of ranks, Cases returns nil.
func Cases(a *message.Algorithm, ranks, elements int) []Case {
	if a.Limits&message.PowerOfTwo != 0 && ranks&(ranks-1) != 0 {
		return nil
	}
	operators, roots := []Operator{Sum}, []int{0}
	if a.Operation.Reduces() {
		if a.Limits&message.Commutes == 0 {
			operators = append(operators, Compose)
		}
		if a.LeftToRight {
			operators = append(operators, FloatSum)
		}
	}
	if a.Operation.Rooted() {
		roots = someRoots(ranks)
	}
	var all []Case
	for _, op := range operators {
		for _, root := range roots {
			k := Case{Operation: a.Operation, Ranks: ranks, Elements: elements, Root: root, Operator: op}
			all = append(all, k)
			if k.shares() && a.Limits&message.Apart == 0 {
				k.InPlace = true
				all = append(all, k)
			}
		}
	}
	return all
}

// someRoots returns all ranks of a group of up to 9 ranks. Of a larger group it returns rank 0, rank
// 1, a rank in the middle, and the last rank.
func someRoots(ranks int) []int {
	if ranks > 9 {
		return []int{0, 1, ranks / 2, ranks - 1}
	}
	roots := make([]int, ranks)
	for i := range roots {
		roots[i] = i
	}
	return roots
}

// shares reports whether the operation has cases in which the send and the receive buffer share
// memory.
func (k Case) shares() bool {
	switch {
	case k.Operation == message.Barrier, k.Operation == message.Bcast, k.Operation == message.AllToAllV, k.Operation.Neighborhood():
		return false
	default:
		return true
	}
}

// count returns the number of elements of block i of an operation with counts: between 0 and Elements.
func (k Case) count(i int) int { return (5*i + k.Elements) % (k.Elements + 1) }

// pairCount returns the number of elements that one rank sends to another in an alltoallv. The
// argument from is the sender, to is the receiver.
func (k Case) pairCount(from, to int) int { return (3*from + 5*to + k.Elements) % (k.Elements + 1) }

// layout describes the blocks of a rank's send and receive buffers, and the lengths of these buffers in
// bytes.
type layout struct {
	send, recv       message.Parts
	sendLen, recvLen int
}

// layout returns the layout of a rank that uses all its buffers.
func (k Case) layout(rank int) (l layout) {
	n, p := k.Elements*Elem, k.Ranks
	own := k.count(rank) * Elem
	if k.Operation.Neighborhood() {
		return k.neighborLayout(rank)
	}
	switch k.Operation {
	case message.Barrier:
	case message.Bcast:
		l.recvLen = n
	case message.Reduce, message.AllReduce, message.Scan, message.ExScan:
		l.sendLen, l.recvLen = n, n
	case message.ReduceScatter:
		counts, total := make([]int, p), 0
		for i := range counts {
			counts[i] = k.count(i)
			total += counts[i]
		}
		l.send = message.Uneven(counts, nil, Elem)
		l.sendLen, l.recvLen = total*Elem, own
	case message.ReduceScatterBlock, message.Scatter:
		l.send, l.sendLen, l.recvLen = message.Equal(n), n*p, n
	case message.Gather, message.AllGather:
		l.recv, l.sendLen, l.recvLen = message.Equal(n), n, n*p
	case message.GatherV, message.AllGatherV:
		l.sendLen = own
		l.recv, l.recvLen = apart(p, k.count)
	case message.ScatterV:
		l.recvLen = own
		l.send, l.sendLen = apart(p, k.count)
	case message.AllToAll:
		l.send, l.sendLen = message.Equal(n), n*p
		l.recv, l.recvLen = l.send, l.sendLen
	case message.AllToAllV:
		l.send, l.sendLen = apart(p, func(i int) int { return k.pairCount(rank, i) })
		l.recv, l.recvLen = apart(p, func(i int) int { return k.pairCount(i, rank) })
	default:
		panic(fmt.Sprintf("the oracle does not know %v", k.Operation))
	}
	return l
}

// apart returns blocks in the reverse order of the ranks, with one unused element before, between and
// after them. It also returns the length of the buffer in bytes.
func apart(ranks int, count func(i int) int) (message.Parts, int) {
	counts, displs, end := make([]int, ranks), make([]int, ranks), 1
	for i := ranks - 1; i >= 0; i-- {
		counts[i], displs[i] = count(i), end
		end += counts[i] + 1
	}
	return message.Uneven(counts, displs, Elem), end * Elem
}

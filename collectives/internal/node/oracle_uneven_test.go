package node_test

import (
	"bytes"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// unevenOperations lists the operations on parts of different lengths and the prefix reductions.
var unevenOperations = []operation{
	{"reducescatter small", reduceScatter((*node.Group).ReduceScatterSmall), small(all)},
	{"reducescatter segments", reduceScatter((*node.Group).ReduceScatterSegments), laned},
	{"scan small", scan((*node.Group).ScanSmall, 1), small(own)},
	{"scan pipeline", scan((*node.Group).ScanPipeline, 1), large},
	{"exscan small", scan((*node.Group).ExScanSmall, 0), small(own)},
	{"exscan pipeline", scan((*node.Group).ExScanPipeline, 0), large},
	{"exscan pull", scan(func(g *node.Group, send, recv []byte, _ message.Reduction) error {
		return pulled(g, func() error { return g.ExScanPull(send, recv) })
	}, 0), pair},
	{"allgatherv small", allGatherV((*node.Group).AllGatherSmall), func(g *node.Group, c call) bool { return 8*c.countMax() <= g.SmallMax() }},
	{"allgatherv pipeline", allGatherV((*node.Group).AllGatherPipeline), large},
	{"gatherv slots", gatherV, large},
	{"scatterv slots", scatterV, large},
	{"alltoallv by segments", allToAllV(node.BySegments), large},
	{"alltoallv by messages", allToAllV(node.ByMessages), large},
	{"alltoallv by reads", allToAllV(node.ByReads), large},
}

// laned reports whether a segment has room for an element of every member.
func laned(_ *node.Group, c call) bool { return c.size <= 8 }

// count returns the number of elements of part i. Some parts are empty, and some do not fit into a
// slot.
func (c call) count(i int) int {
	n := (5*i + c.n) % (c.n + 1)
	if c.n >= 100 && c.n < 500 {
		n *= 8
	}
	return n
}

// countMax returns the largest count.
func (c call) countMax() int {
	most := 0
	for i := range c.size {
		most = max(most, c.count(i))
	}
	return most
}

// apart returns parts with these counts. The parts lie in the reverse order of the members, and
// one unused element separates them.
func (c call) apart(count func(i int) int) (message.Parts, int) {
	counts, displs, end := make([]int, c.size), make([]int, c.size), 1
	for i := c.size - 1; i >= 0; i-- {
		counts[i], displs[i] = count(i), end
		end += counts[i] + 1
	}
	return message.Uneven(counts, displs, 8), 8 * end
}

// laid returns a buffer in which part i contains the data of member source(i).
func (c call) laid(parts message.Parts, length int, source func(i int) int) []byte {
	b := make([]byte, length)
	for i := range c.size {
		copy(parts.Of(b, i), data(c.round, source(i), parts.Count(i)/8))
	}
	return b
}

func reduceScatter(f func(g *node.Group, send, recv []byte, parts message.Parts, r message.Reduction) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		counts, total := make([]int, c.size), 0
		for i := range counts {
			counts[i] = (5*i + c.n) % (c.n + 1)
			total += counts[i]
		}
		parts := message.Uneven(counts, nil, 8)
		whole := call{c.round, c.size, total, 0}
		send := data(c.round, rank, total)
		got = parts.Of(send, rank) // in place in every second round
		if c.round%2 == 0 {
			got = make([]byte, len(got))
		}
		err = f(g, send, got, parts, product)
		return got, parts.Of(whole.combined(), rank), err
	}
}

// scan returns the function run of an operation that is a prefix reduction. The expected result of a
// rank combines the contributions of the first rank+more members.
func scan(f reducer, more int) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		send := data(c.round, rank, c.n)
		got = send // in place in every second round
		if c.round%2 == 0 {
			got = make([]byte, len(send))
		}
		if count := rank + more; count > 0 {
			want = call{c.round, count, c.n, 0}.combined()
		} else {
			want = bytes.Clone(got)
		}
		err = f(g, send, got, product)
		return got, want, err
	}
}

func allGatherV(f func(g *node.Group, send, recv []byte, parts message.Parts) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		parts, length := c.apart(c.count)
		send := data(c.round, rank, c.count(rank))
		got = make([]byte, length)
		if c.round%2 == 0 { // send is this member's part of recv
			mine := parts.Of(got, rank)
			copy(mine, send)
			send = mine
		}
		err = f(g, send, got, parts)
		return got, c.laid(parts, length, func(i int) int { return i }), err
	}
}

func gatherV(g *node.Group, rank int, c call) (got, want []byte, err error) {
	send := data(c.round, rank, c.count(rank))
	if rank != c.root {
		return nil, nil, g.GatherVSlots(peerOf(g), send, nil, message.Parts{}, c.root)
	}
	parts, length := c.apart(c.count)
	got = make([]byte, length)
	err = g.GatherVSlots(peerOf(g), send, got, parts, c.root)
	return got, c.laid(parts, length, func(i int) int { return i }), err
}

func scatterV(g *node.Group, rank int, c call) (got, want []byte, err error) {
	want = data(c.round, rank, c.count(rank))
	got = make([]byte, len(want))
	if rank != c.root {
		return got, want, g.ScatterVSlots(peerOf(g), nil, message.Parts{}, got, c.root)
	}
	parts, length := c.apart(c.count)
	send := c.laid(parts, length, func(i int) int { return i })
	return got, want, g.ScatterVSlots(peerOf(g), send, parts, got, c.root)
}

// pairCount returns the number of elements from one member to another.
func (c call) pairCount(from, to int) int { return c.count(3*from + to) }

func allToAllV(how node.LongParts) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		out, outLength := c.apart(func(i int) int { return c.pairCount(rank, i) })
		in, inLength := c.apart(func(i int) int { return c.pairCount(i, rank) })
		got = make([]byte, inLength)
		k := message.Call{
			Send: c.laid(out, outLength, func(i int) int { return rank*c.size + i }), SendParts: out,
			Recv: got, RecvParts: in,
		}
		err = g.AllToAllVSlots(peerOf(g), &k, func(int) (node.LongParts, error) {
			if how != node.ByReads {
				return how, nil
			}
			_, err := g.CanPull()
			return how, err
		})
		return got, c.laid(in, inLength, func(i int) int { return i*c.size + rank }), err
	}
}

// TestPartsOfOtherLengths lets two members expect different lengths of a part. The receiver must
// get ErrLength, both if the part fits into a slot and if it does not.
func TestPartsOfOtherLengths(t *testing.T) {
	for _, sent := range []int{8, 16 << 10} {
		for _, expected := range []int{0, 16, 32 << 10} {
			for name, do := range map[string]func(g *node.Group, p message.Peer, rank int) error{
				"gatherv": func(g *node.Group, p message.Peer, rank int) error {
					return g.GatherVSlots(p, make([]byte, sent*rank), make([]byte, expected), message.Uneven([]int{0, expected}, nil, 1), 0)
				},
				"scatterv": func(g *node.Group, p message.Peer, rank int) error {
					return g.ScatterVSlots(p, make([]byte, sent), message.Uneven([]int{sent, 0}, nil, 1), make([]byte, expected*(1-rank)), 1)
				},
				"alltoallv": func(g *node.Group, p message.Peer, rank int) error {
					k := message.Call{
						Send: make([]byte, sent), SendParts: message.Uneven([]int{sent * rank, 0}, nil, 1),
						Recv: make([]byte, expected), RecvParts: message.Uneven([]int{0, expected * (1 - rank)}, nil, 1),
					}
					return g.AllToAllVSlots(p, &k, func(int) (node.LongParts, error) { return node.BySegments, nil })
				},
			} {
				errs := differing(t, node.Config{Size: 2}, func(rank int, g *node.Group) error {
					err := do(g, peerOf(g), rank)
					if err == nil && rank == 1 {
						err = g.BarrierCounter() // waits until member 0 has ended
					}
					return err
				})
				require.ErrorIs(t, errs[0], message.ErrLength, "%s, %d sent, %d expected", name, sent, expected)
				require.ErrorContains(t, errs[0], fmt.Sprintf("rank 1 sent %d bytes, not %d", sent, expected))
			}
		}
	}
}

// TestScanWaitsForNoneAfter checks that a member of a prefix reduction does not wait for members
// of higher rank.
func TestScanWaitsForNoneAfter(t *testing.T) {
	for _, f := range []reducer{(*node.Group).ScanSmall, (*node.Group).ScanPipeline, (*node.Group).ExScanSmall, (*node.Group).ExScanPipeline} {
		var left atomic.Bool
		run(t, node.Config{Size: 2}, func(rank int, g *node.Group) error {
			// This call opens all memory, for which both members are needed.
			if err := g.AllReduceSegments(data(0, rank, 8), make([]byte, 64), product); err != nil {
				return err
			}
			for rank == 1 && !left.Load() {
				goruntime.Gosched()
			}
			err := f(g, data(0, rank, 8), make([]byte, 64), product)
			left.Store(true)
			return err
		})
	}
}

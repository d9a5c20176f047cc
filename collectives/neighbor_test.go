package collectives_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// blockOf returns the n elements that a rank sends over its i-th edge.
func blockOf(rank, i, n int) []int {
	b := make([]int, n)
	for j := range b {
		b[j] = 10000*rank + 100*i + j
	}
	return b
}

// lengthOf returns the number of elements that a rank sends over its i-th edge in operations with
// counts.
func lengthOf(rank, i int) int { return (3*rank + 5*i) % 4 }

// nowhere marks elements of recv that no operation may write.
const nowhere = -7

func untouched(n int) []int { return slices.Repeat([]int{nowhere}, n) }

// hood is the neighborhood of a rank in a topology. The edge from sources[j] to this rank fills block
// j. Among the outgoing edges of sources[j], this edge has the index edges[j].
type hood struct {
	comm           *runtime.Comm
	sources, dests []int
	edges          []int
}

// forms runs an operation in its three forms, and the persistent form twice. It checks recv after each
// run. The nonblocking form runs together with an exchange of messages on the same communicator.
func (h *hood) forms(t *testing.T, recv, want []int, wait func() error, start func() runtime.Request, init func() *runtime.Persistent) {
	t.Helper()
	check := func(err error) {
		require.NoError(t, err)
		require.Equal(t, want, recv)
		copy(recv, untouched(len(recv)))
	}
	check(wait())
	ring := runtime.Irecv(h.comm, make([]int, 1), (h.comm.Rank()+h.comm.Size()-1)%h.comm.Size(), 3)
	both := []runtime.Request{start(), ring, runtime.Isend(h.comm, []int{1}, (h.comm.Rank()+1)%h.comm.Size(), 3)}
	check(runtime.WaitAll(both))
	p := init()
	for range 2 {
		require.NoError(t, p.Start())
		_, err := p.Wait()
		check(err)
	}
	p.Close()
}

// all runs all neighborhood operations.
func (h *hood) all(t *testing.T) {
	t.Helper()
	c, rank, in, out := h.comm, h.comm.Rank(), len(h.sources), len(h.dests)
	for _, n := range []int{0, 1, 300} {
		var gathered, exchanged, sent []int
		for j, source := range h.sources {
			if source == runtime.ProcNull {
				gathered, exchanged = append(gathered, untouched(n)...), append(exchanged, untouched(n)...)
				continue
			}
			gathered = append(gathered, blockOf(source, 0, n)...)
			exchanged = append(exchanged, blockOf(source, h.edges[j], n)...)
		}
		for i := range h.dests {
			sent = append(sent, blockOf(rank, i, n)...)
		}
		own, recv := blockOf(rank, 0, n), untouched(n*in)
		h.forms(t, recv, append([]int{}, gathered...),
			func() error { return collectives.NeighborAllGather(c, own, recv) },
			func() runtime.Request { return collectives.INeighborAllGather(c, own, recv) },
			func() *runtime.Persistent { return collectives.NeighborAllGatherInit(c, own, recv) })
		h.forms(t, recv, append([]int{}, exchanged...),
			func() error { return collectives.NeighborAllToAll(c, sent, recv) },
			func() runtime.Request { return collectives.INeighborAllToAll(c, sent, recv) },
			func() *runtime.Persistent { return collectives.NeighborAllToAllInit(c, sent, recv) })
	}
	h.uneven(t, make([]int, out), make([]int, in))
}

// uneven runs the operations with counts. Received blocks are placed in reverse order, with one
// element between them.
func (h *hood) uneven(t *testing.T, sendDispls, recvDispls []int) {
	t.Helper()
	c, rank := h.comm, h.comm.Rank()
	var sent, sendCounts, recvCounts, gatherCounts []int
	for i := range h.dests {
		sendCounts, sendDispls[i] = append(sendCounts, lengthOf(rank, i)), len(sent)
		sent = append(sent, blockOf(rank, i, lengthOf(rank, i))...)
	}
	for j, source := range h.sources {
		recvCounts, gatherCounts = append(recvCounts, 2), append(gatherCounts, 2)
		if source != runtime.ProcNull {
			recvCounts[j], gatherCounts[j] = lengthOf(source, h.edges[j]), lengthOf(source, 0)
		}
	}
	want := h.layOut(recvCounts, recvDispls, func(j int) []int { return blockOf(h.sources[j], h.edges[j], recvCounts[j]) })
	recv, at := untouched(len(want)), slices.Clone(recvDispls)
	h.forms(t, recv, want,
		func() error {
			return collectives.NeighborAllToAllV(c, sent, sendCounts, nil, recv, recvCounts, at)
		},
		func() runtime.Request {
			return collectives.INeighborAllToAllV(c, sent, sendCounts, sendDispls, recv, recvCounts, at)
		},
		func() *runtime.Persistent {
			return collectives.NeighborAllToAllVInit(c, sent, sendCounts, sendDispls, recv, recvCounts, at)
		})
	want = h.layOut(gatherCounts, recvDispls, func(j int) []int { return blockOf(h.sources[j], 0, gatherCounts[j]) })
	own, got := blockOf(rank, 0, lengthOf(rank, 0)), untouched(len(want))
	h.forms(t, got, want,
		func() error { return collectives.NeighborAllGatherV(c, own, got, gatherCounts, recvDispls) },
		func() runtime.Request {
			return collectives.INeighborAllGatherV(c, own, got, gatherCounts, recvDispls)
		},
		func() *runtime.Persistent {
			return collectives.NeighborAllGatherVInit(c, own, got, gatherCounts, recvDispls)
		})
}

// layOut places blocks in reverse order, sets displs accordingly, and returns the buffer with these
// blocks.
func (h *hood) layOut(counts, displs []int, block func(j int) []int) []int {
	buf := untouched(1)
	for j := len(counts) - 1; j >= 0; j-- {
		displs[j] = len(buf)
		if h.sources[j] == runtime.ProcNull {
			buf = append(buf, untouched(counts[j])...)
		} else {
			buf = append(buf, block(j)...)
		}
		buf = append(buf, nowhere)
	}
	return buf
}

// In a grid, each rank receives from its previous neighbor in a dimension what that rank sent to
// its next neighbor. This also holds if both neighbors in a dimension are the same rank, or the rank
// itself (MPICH's coll/ring_neighbor_alltoall.c).
func TestNeighborsInAGrid(t *testing.T) {
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		for _, dims := range [][]int{{1}, {2}, {3}, {1, 3}, {2, 1, 2}} {
			points := 1
			for _, n := range dims {
				points *= n
			}
			if transport == "rdma" && points != 4 {
				continue
			}
			require.NoError(t, runtime.Local(points, func(w *runtime.World) error {
				for bits := range 1 << len(dims) {
					if bits%5 != 0 && len(dims) == 3 {
						continue
					}
					periods := make([]bool, len(dims))
					for i := range periods {
						periods[i] = bits>>i&1 == 1
					}
					cart, err := w.Comm().CreateCart(dims, periods, false)
					require.NoError(t, err)
					h := &hood{comm: cart.Comm}
					h.sources, h.dests, err = cart.Neighbors()
					require.NoError(t, err)
					for j := range h.sources {
						h.edges = append(h.edges, j^1)
					}
					h.all(t)
					require.NoError(t, cart.Close())
				}
				return nil
			}))
		}
	}
}

// Neighborhood operations in a graph give right results with different numbers of edges in and out,
// with edges that appear twice, and with edges to oneself (MPICH's coll/neighb_alltoallw2.c).
func TestNeighborsInAGraph(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 6} {
		require.NoError(t, runtime.Local(ranks, func(w *runtime.World) error {
			same := rand.New(rand.NewPCG(uint64(ranks), 9))
			for range 6 {
				dests := make([][]int, ranks)
				for range same.IntN(4 * ranks) {
					from := same.IntN(ranks)
					dests[from] = append(dests[from], same.IntN(ranks))
				}
				h := &hood{dests: dests[w.Rank()]}
				for _, from := range same.Perm(ranks) {
					for i, to := range dests[from] {
						if to == w.Rank() {
							h.sources, h.edges = append(h.sources, from), append(h.edges, i)
						}
					}
				}
				graph, err := w.Comm().CreateGraphAdjacent(h.sources, nil, h.dests, nil, false)
				require.NoError(t, err)
				h.comm = graph.Comm
				h.all(t)
				require.NoError(t, graph.Close())
			}
			return nil
		}))
	}
}

// Wrong arguments of neighborhood operations are refused, and the communicator can still be used.
func TestNeighborArguments(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		cart, err := w.Comm().CreateCart([]int{2, 1}, []bool{true, true}, false)
		require.NoError(t, err)
		c, four, eight := cart.Comm, make([]int, 4), make([]int, 8)
		ones, bad := []int{1, 1, 1, 1}, []int{1, 1, -1, 1}
		odd := []int{1, 1, 2, 1}
		for name, check := range map[string]struct{ err, want error }{
			"no topology":              {collectives.NeighborAllGather(w.Comm(), four[:1], four), runtime.ErrTopology},
			"no communicator":          {collectives.NeighborAllToAll(nil, four, eight[:4]), runtime.ErrComm},
			"recv too short":           {collectives.NeighborAllGather(c, four[:2], eight[:7]), collectives.ErrLength},
			"send and recv differ":     {collectives.NeighborAllToAll(c, four, eight), collectives.ErrLength},
			"no whole block":           {collectives.NeighborAllToAll(c, eight[:6], make([]int, 6)), collectives.ErrLength},
			"the same slice":           {collectives.NeighborAllToAll(c, four, four), runtime.ErrAlias},
			"an overlap":               {collectives.NeighborAllGather(c, eight[2:3], eight[:4]), runtime.ErrAlias},
			"a count too few":          {collectives.NeighborAllGatherV(c, four[:1], eight, ones[:3], nil), collectives.ErrLength},
			"a negative count":         {collectives.NeighborAllGatherV(c, four[:1], eight, bad, nil), collectives.ErrLength},
			"blocks that overlap":      {collectives.NeighborAllGatherV(c, four[:1], eight, ones, []int{0, 1, 1, 2}), runtime.ErrAlias},
			"a displacement too high":  {collectives.NeighborAllToAllV(c, four, ones, []int{0, 1, 2, 4}, eight, ones, nil), collectives.ErrLength},
			"oneself with two lengths": {collectives.NeighborAllToAllV(c, four, ones, nil, eight, odd, nil), collectives.ErrLength},
		} {
			require.ErrorIs(t, check.err, check.want, name)
		}
		require.NoError(t, collectives.NeighborAllToAll(c, four, eight[:4]), "nothing is broken")
		return nil
	}))
}

// If a rank has given an edge to itself at only one of the two ends, the rank gets an error before it sends
// anything. The communicator can still be used.
func TestOwnNeighborAtOneEnd(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		own := []int{c.Rank()}
		for _, ends := range []struct{ sources, dests []int }{{own, nil}, {nil, own}} {
			graph, err := c.CreateGraphAdjacent(ends.sources, nil, ends.dests, nil, false)
			require.NoError(t, err)
			err = collectives.NeighborAllToAll(graph.Comm, make([]int, len(ends.dests)), make([]int, len(ends.sources)))
			require.ErrorIs(t, err, runtime.ErrArgument)
			require.ErrorContains(t, err, fmt.Sprintf("rank %d is not equally often in its own sources and dests", c.Rank()))
			require.NoError(t, collectives.Barrier(graph.Comm))
			require.NoError(t, graph.Close())
		}
		return nil
	})
}

package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// affine is x -> A*x + B modulo 2^32. The composition of such functions does not commute.
type affine struct{ A, B uint32 }

func compose(dst, a, b []byte) {
	d, f, g := kernel.View[affine](dst), kernel.View[affine](a), kernel.View[affine](b)
	for i := range d {
		d[i] = affine{f[i].A * g[i].A, f[i].A*g[i].B + f[i].B}
	}
}

var product = message.Reduction{Fn: compose, Elem: 8}

// data returns n elements of 8 bytes that depend on the member, the round and the index.
func data(round, who, n int) []byte {
	v := make([]uint64, n)
	x := uint64(round+1)*0x9e3779b97f4a7c15 + uint64(who)*0xbf58476d1ce4e5b9
	for i := range v {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		v[i] = x | 1
	}
	return kernel.Bytes(v)
}

// call is one operation of a random program that all members run.
type call struct {
	round, size, n, root int
}

func (c call) joined() []byte {
	var all []byte
	for q := range c.size {
		all = append(all, data(c.round, q, c.n)...)
	}
	return all
}

func (c call) combined() []byte {
	acc := data(c.round, 0, c.n)
	for q := 1; q < c.size; q++ {
		compose(acc, acc, data(c.round, q, c.n))
	}
	return acc
}

// row returns the data that rank sends to all members, and the data that it gets from all
// members.
func (c call) row(rank int) (out, in []byte) {
	for q := range c.size {
		out = append(out, data(c.round, rank*c.size+q, c.n)...)
		in = append(in, data(c.round, q*c.size+rank, c.n)...)
	}
	return out, in
}

// operation runs one call at one member and returns its result and the expected result. If the member gets no
// result, both are nil or, in a reduction, both are the member's contribution, which must stay unchanged.
type operation struct {
	name string
	run  func(g *node.Group, rank int, c call) (got, want []byte, err error)
	// fits reports whether the operation supports the sizes of the call.
	fits func(g *node.Group, c call) bool
}

func small(perRank func(c call) int) func(*node.Group, call) bool {
	return func(g *node.Group, c call) bool { return 8*perRank(c) <= g.SmallMax() }
}

func own(c call) int { return c.n }
func all(c call) int { return c.n * c.size }

func large(*node.Group, call) bool { return true }

func pair(_ *node.Group, c call) bool { return c.size == 2 }

type reducer func(g *node.Group, send, recv []byte, r message.Reduction) error

func allReduce(f reducer) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		send := data(c.round, rank, c.n)
		got = send // in place in every second round
		if c.round%2 == 0 {
			got = make([]byte, len(send))
		}
		err = f(g, send, got, product)
		return got, c.combined(), err
	}
}

func reduce(f func(g *node.Group, send, recv []byte, root int, r message.Reduction) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		send := data(c.round, rank, c.n)
		if rank != c.root {
			return send, data(c.round, rank, c.n), f(g, send, nil, c.root, product)
		}
		got = send
		if c.round%2 == 0 {
			got = make([]byte, len(send))
		}
		err = f(g, send, got, c.root, product)
		return got, c.combined(), err
	}
}

func bcast(f func(g *node.Group, buf []byte, root int) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		want = data(c.round, c.root, c.n)
		got = make([]byte, len(want))
		if rank == c.root {
			copy(got, want)
		}
		return got, want, f(g, got, c.root)
	}
}

func gather(f func(g *node.Group, send, recv []byte, root int) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		send := data(c.round, rank, c.n)
		if rank != c.root {
			return nil, nil, f(g, send, nil, c.root)
		}
		got = make([]byte, len(send)*c.size)
		return got, c.joined(), f(g, send, got, c.root)
	}
}

func scatter(f func(g *node.Group, send, recv []byte, root int) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		var send []byte
		if rank == c.root {
			send = c.joined()
		}
		want = data(c.round, rank, c.n)
		got = make([]byte, len(want))
		return got, want, f(g, send, got, c.root)
	}
}

func allGather(f func(g *node.Group, send, recv []byte, parts message.Parts) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		send := data(c.round, rank, c.n)
		got = make([]byte, len(send)*c.size)
		if c.round%2 == 0 { // send is this member's block of recv
			mine := got[rank*len(send):][:len(send)]
			copy(mine, send)
			send = mine
		}
		return got, c.joined(), f(g, send, got, message.Equal(len(send)))
	}
}

func allToAll(f func(g *node.Group, send, recv []byte) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, rank int, c call) (got, want []byte, err error) {
		out, in := c.row(rank)
		got = make([]byte, len(in))
		return got, in, f(g, out, got)
	}
}

var operations = append(unevenOperations, []operation{
	{"allreduce exchange", allReduce((*node.Group).AllReduceExchange), small(own)},
	{"allreduce counter", allReduce((*node.Group).AllReduceCounter), small(own)},
	{"allreduce segments", allReduce((*node.Group).AllReduceSegments), large},
	{"allreduce pair", allReduce((*node.Group).AllReducePair), pair},
	{"reduce small", reduce((*node.Group).ReduceSmall), small(own)},
	{"reduce segments", reduce((*node.Group).ReduceSegments), large},
	{"reduce pipeline", reduce((*node.Group).ReducePipeline), large},
	{"reduce pull", reduce(func(g *node.Group, send, recv []byte, root int, r message.Reduction) error {
		return pulled(g, func() error { return g.ReducePull(send, recv, root, r) })
	}), pair},
	{"bcast small", bcast((*node.Group).BcastSmall), small(own)},
	{"bcast pipeline", bcast((*node.Group).BcastPipeline), large},
	{"gather small", gather((*node.Group).GatherSmall), small(own)},
	{"gather pipeline", gather((*node.Group).GatherPipeline), large},
	{"scatter small", scatter((*node.Group).ScatterSmall), small(all)},
	{"scatter pipeline", scatter((*node.Group).ScatterPipeline), large},
	{"allgather small", allGather((*node.Group).AllGatherSmall), small(own)},
	{"allgather pipeline", allGather((*node.Group).AllGatherPipeline), large},
	{"alltoall small", allToAll((*node.Group).AllToAllSmall), small(all)},
	{"alltoall pipeline", allToAll((*node.Group).AllToAllPipeline), large},
	{"alltoall pull", allToAll(pull), large},
	{"bcast pull", bcast(func(g *node.Group, buf []byte, root int) error {
		return pulled(g, func() error { return g.BcastPull(buf, root) })
	}), large},
	{"gather pull", gather(func(g *node.Group, send, recv []byte, root int) error {
		return pulled(g, func() error { return g.GatherPull(send, recv, root) })
	}), large},
	{"scatter pull", scatter(func(g *node.Group, send, recv []byte, root int) error {
		return pulled(g, func() error { return g.ScatterPull(send, recv, root) })
	}), large},
	{"allgather pull", allGather(func(g *node.Group, send, recv []byte, parts message.Parts) error {
		return pulled(g, func() error { return g.AllGatherPull(send, recv, parts) })
	}), large},
	{"barrier flags", barrier((*node.Group).BarrierFlags), large},
	{"barrier counter", barrier((*node.Group).BarrierCounter), large},
}...)

// pulled runs an operation that reads the memory of other members, after it has checked with
// CanPull that this is possible.
func pulled(g *node.Group, operation func() error) error {
	ok, err := g.CanPull()
	if err == nil && !ok {
		err = errors.New("memory of this process cannot be read")
	}
	if err != nil {
		return err
	}
	return operation()
}

func pull(g *node.Group, send, recv []byte) error {
	return pulled(g, func() error { return g.AllToAllPull(send, recv) })
}

func barrier(f func(g *node.Group) error) func(*node.Group, int, call) ([]byte, []byte, error) {
	return func(g *node.Group, _ int, _ call) (got, want []byte, err error) { return nil, nil, f(g) }
}

// shapes yields groups whose members have processors of their own, and groups whose members share
// processors. In half of the groups, the segments are so short that every ring is filled many times.
func shapes(yield func(node.Config) bool) {
	for _, size := range []int{2, 3, 5, 8} {
		for _, crowded := range []bool{false, true} {
			for _, segment := range []int{0, 1 << 10} {
				if !yield(node.Config{Size: size, Crowded: crowded, Segment: segment}) {
					return
				}
			}
		}
	}
}

func perform(g *node.Group, rank int, op operation, c call) error {
	got, want, err := op.run(g, rank, c)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("round %d: %s of %d elements at member %d of %d, root %d: wrong result", c.round, op.name, c.n, rank, c.size, c.root)
	}
	return nil
}

// TestOperations tests every operation separately, with zero to many elements and with every root.
func TestOperations(t *testing.T) {
	lengths := []int{0, 1, 2, 7, 8, 63, 64, 500, 3000, 9000}
	if testing.Short() {
		lengths = []int{0, 1, 64, 3000}
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			for shape := range shapes {
				run(t, shape, func(rank int, g *node.Group) error {
					for round, n := range lengths {
						c := call{round, shape.Size, n, round % shape.Size}
						if !op.fits(g, c) {
							continue
						}
						if err := perform(g, rank, op, c); err != nil {
							return err
						}
					}
					return nil
				})
			}
		})
	}
}

// TestRandomPrograms runs random programs of all operations with members of different speed. A
// fast member must never overwrite data that a slow member still reads.
func TestRandomPrograms(t *testing.T) {
	for shape := range shapes {
		seed := rand.Uint64()
		run(t, shape, func(rank int, g *node.Group) error {
			program := rand.New(rand.NewPCG(seed, 1)) // all members have the same seed
			pause := rand.New(rand.NewPCG(seed, uint64(rank)+2))
			for round := range 150 {
				op := operations[program.IntN(len(operations))]
				c := call{round, shape.Size, 1 << program.IntN(10), program.IntN(shape.Size)}
				if !op.fits(g, c) {
					continue
				}
				for range pause.IntN(20) * pause.IntN(2) {
					goruntime.Gosched()
				}
				if err := perform(g, rank, op, c); err != nil {
					return fmt.Errorf("seed %d: %w", seed, err)
				}
			}
			return nil
		})
	}
}

// TestBarriersHold checks that no member leaves a barrier before all members have entered it.
// The same must hold if the root of the preceding broadcast releases the other members.
func TestBarriersHold(t *testing.T) {
	for shape := range shapes {
		afterBcast := func(g *node.Group, round int64) error {
			if err := g.BcastSmall(make([]byte, 8), int(round)%shape.Size); err != nil {
				return err
			}
			return g.BarrierCounter()
		}
		for _, barrier := range []func(*node.Group, int64) error{
			func(g *node.Group, _ int64) error { return g.BarrierFlags() },
			func(g *node.Group, _ int64) error { return g.BarrierCounter() },
			afterBcast,
		} {
			var inside atomic.Int64
			run(t, shape, func(rank int, g *node.Group) error {
				for round := range int64(20) {
					inside.Add(1)
					if err := barrier(g, round); err != nil {
						return err
					}
					if got := inside.Load(); got < (round+1)*int64(shape.Size) {
						return fmt.Errorf("member %d left round %d when %d had come", rank, round, got)
					}
				}
				return nil
			})
		}
	}
}

// TestSegmentsAreWholeElements checks that the segments of large reductions contain only whole
// elements, for several sizes of elements.
func TestSegmentsAreWholeElements(t *testing.T) {
	for _, elem := range []int{8, 24, 40, 1000} {
		whole := message.Reduction{Elem: elem, Fn: func(dst, a, b []byte) {
			if len(dst)%elem != 0 {
				panic("a part of an element")
			}
			compose(dst, a, b)
		}}
		for shape := range shapes {
			run(t, shape, func(rank int, g *node.Group) error {
				for round, n := range []int{elem / 8, elem, 30 * elem} {
					c := call{round, shape.Size, n, 0}
					send, recv := data(round, rank, n), make([]byte, 8*n)
					if err := g.AllReduceSegments(send, recv, whole); err != nil {
						return err
					}
					if !bytes.Equal(recv, c.combined()) {
						return fmt.Errorf("%d elements of %d bytes at member %d of %d: wrong result", n, elem, rank, shape.Size)
					}
					if err := g.ReducePipeline(send, recv, 0, whole); err != nil {
						return err
					}
					if shape.Size != 2 {
						continue
					}
					if err := g.AllReducePair(send, recv, whole); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}

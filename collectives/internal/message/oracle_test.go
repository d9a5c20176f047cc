package message_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// largest is the largest group tried; it covers powers of two, their neighbours
// and odd numbers.
const largest = 17

// counts are element counts: none, fewer than ranks, not divisible, more.
var counts = []int{0, 1, 3, 16, 61, 1000}

// affine is x -> A*x + B modulo 2^32. Composition is associative and not
// commutative.
type affine struct{ A, B uint32 }

func compose(dst, a, b []byte) {
	d, f, g := kernel.View[affine](dst), kernel.View[affine](a), kernel.View[affine](b)
	for i := range d {
		d[i] = affine{f[i].A * g[i].A, f[i].A*g[i].B + f[i].B}
	}
}

var (
	sum     = message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Uint64), Elem: 8, Commutative: true}
	product = message.Reduction{Fn: compose, Elem: 8}
)

// data returns the bytes of rank r: n elements of 8 bytes that no other rank and
// no other place has.
func data(r, n int) []byte {
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(r*1_000_003+i*7919)*2654435761 | 1
	}
	return kernel.Bytes(v)
}

// combined is the reduction of all ranks in order, one rank after the other.
func combined(r message.Reduction, size, n int) []byte {
	acc := data(0, n)
	for q := 1; q < size; q++ {
		r.Fn(acc, acc, data(q, n))
	}
	return acc
}

// joined is the data of all ranks, one after the other.
func joined(size, n int) []byte {
	var all []byte
	for r := range size {
		all = append(all, data(r, n)...)
	}
	return all
}

// each runs test for all sizes of groups and buffers, or some with -short.
func each(t *testing.T, test func(t *testing.T, size, n int)) {
	t.Helper()
	most, counts := largest, counts
	if testing.Short() {
		most, counts = 9, []int{0, 3, 61}
	}
	for size := 1; size <= most; size++ {
		for _, n := range counts {
			t.Run(fmt.Sprintf("%dx%d", size, n), func(t *testing.T) { test(t, size, n) })
		}
	}
}

// same returns an error unless got is want.
func same(p message.Peer, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("rank %d has a wrong result", p.Rank())
	}
	return nil
}

func TestBarrierDissemination(t *testing.T) {
	for size := 1; size <= largest; size++ {
		var inside atomic.Int64
		run(t, size, func(p message.Peer) error {
			for round := range int64(3) {
				inside.Add(1)
				if err := message.BarrierDissemination(p); err != nil {
					return err
				}
				if got := inside.Load(); got < (round+1)*int64(size) {
					return fmt.Errorf("rank %d left round %d when %d had come", p.Rank(), round, got)
				}
			}
			return nil
		})
	}
}

func TestBcast(t *testing.T) {
	for name, bcast := range map[string]func(message.Peer, []byte, int) error{
		"binomial": message.BcastBinomial, "scatter-allgather": message.BcastScatterAllGather,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, size, n int) {
				t.Helper()
				for root := range size {
					run(t, size, func(p message.Peer) error {
						buf := make([]byte, 8*n)
						if p.Rank() == root {
							buf = data(root, n)
						}
						return errors.Join(bcast(p, buf, root), same(p, buf, data(root, n)))
					})
				}
			})
		})
	}
}

func TestReduce(t *testing.T) {
	for _, c := range []struct {
		name   string
		reduce func(message.Peer, []byte, []byte, int, message.Reduction) error
		op     message.Reduction
	}{
		{"binomial", message.ReduceBinomial, sum},
		{"ordered", message.ReduceOrdered, product},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, size, n int) {
				t.Helper()
				want := combined(c.op, size, n)
				for root := range size {
					run(t, size, func(p message.Peer) error {
						send := data(p.Rank(), n)
						if p.Rank() != root {
							return errors.Join(c.reduce(p, send, nil, root, c.op), same(p, send, data(p.Rank(), n)))
						}
						recv := make([]byte, 8*n)
						err := errors.Join(c.reduce(p, send, recv, root, c.op), same(p, recv, want))
						return errors.Join(err, same(p, send, data(p.Rank(), n)))
					})
					run(t, size, func(p message.Peer) error { // in place
						buf := data(p.Rank(), n)
						err := c.reduce(p, buf, buf, root, c.op)
						if p.Rank() == root {
							return errors.Join(err, same(p, buf, want))
						}
						return errors.Join(err, same(p, buf, data(p.Rank(), n)))
					})
				}
			})
		})
	}
}

func TestAllReduce(t *testing.T) {
	for _, c := range []struct {
		name      string
		allReduce func(message.Peer, []byte, []byte, message.Reduction) error
		op        message.Reduction
	}{
		{"recursive doubling", message.AllReduceRecursiveDoubling, product},
		{"Rabenseifner", message.AllReduceRabenseifner, sum},
		{"ring", message.AllReduceRing, sum},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, size, n int) {
				t.Helper()
				want := combined(c.op, size, n)
				run(t, size, func(p message.Peer) error {
					send, recv := data(p.Rank(), n), make([]byte, 8*n)
					err := errors.Join(c.allReduce(p, send, recv, c.op), same(p, recv, want))
					return errors.Join(err, same(p, send, data(p.Rank(), n)))
				})
				run(t, size, func(p message.Peer) error { // in place
					buf := data(p.Rank(), n)
					return errors.Join(c.allReduce(p, buf, buf, c.op), same(p, buf, want))
				})
			})
		})
	}
}

// All ranks have the same bits even where rounding makes the order of a sum
// visible (MPICH's coll/allred_float.c).
func TestAllReduceSameBitsEverywhere(t *testing.T) {
	op := message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Float64), Elem: 8, Commutative: true}
	for _, allReduce := range []func(message.Peer, []byte, []byte, message.Reduction) error{
		message.AllReduceRecursiveDoubling, message.AllReduceRabenseifner, message.AllReduceRing,
	} {
		for size := 2; size <= largest; size++ {
			results := make([][]byte, size)
			run(t, size, func(p message.Peer) error {
				v := make([]float64, 40)
				for i := range v {
					v[i] = 1 / float64(3*i+p.Rank()+1)
					if (p.Rank()+i)%3 == 0 {
						v[i] *= 1e16
					}
				}
				results[p.Rank()] = kernel.Bytes(v)
				return allReduce(p, results[p.Rank()], results[p.Rank()], op)
			})
			for _, got := range results {
				require.Equal(t, results[0], got)
			}
		}
	}
}

func TestGather(t *testing.T) {
	each(t, func(t *testing.T, size, n int) {
		t.Helper()
		for root := range size {
			run(t, size, func(p message.Peer) error {
				var recv []byte
				if p.Rank() == root {
					recv = make([]byte, 8*n*size)
				}
				err := message.GatherBinomial(p, data(p.Rank(), n), recv, root)
				if p.Rank() != root {
					return err
				}
				return errors.Join(err, same(p, recv, joined(size, n)))
			})
		}
	})
}

func TestScatter(t *testing.T) {
	each(t, func(t *testing.T, size, n int) {
		t.Helper()
		for root := range size {
			run(t, size, func(p message.Peer) error {
				var send []byte
				recv := make([]byte, 8*n)
				if p.Rank() == root {
					send = joined(size, n)
				}
				return errors.Join(message.ScatterBinomial(p, send, recv, root), same(p, recv, data(p.Rank(), n)))
			})
		}
	})
}

func TestAllGather(t *testing.T) {
	for name, allGather := range map[string]func(message.Peer, []byte, []byte) error{
		"ring": message.AllGatherRing, "bruck": message.AllGatherBruck, "recursive doubling": message.AllGatherRecursiveDoubling,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, size, n int) {
				t.Helper()
				run(t, size, func(p message.Peer) error {
					recv := make([]byte, 8*n*size)
					return errors.Join(allGather(p, data(p.Rank(), n), recv), same(p, recv, joined(size, n)))
				})
				run(t, size, func(p message.Peer) error { // send is this rank's block of recv
					recv := make([]byte, 8*n*size)
					mine := recv[8*n*p.Rank():][:8*n]
					copy(mine, data(p.Rank(), n))
					return errors.Join(allGather(p, mine, recv), same(p, recv, joined(size, n)))
				})
			})
		})
	}
}

func TestAllToAll(t *testing.T) {
	block := func(from, to, n int) []byte { return data(from*100+to, n) }
	for name, allToAll := range map[string]func(message.Peer, []byte, []byte) error{
		"pairwise": message.AllToAllPairwise, "bruck": message.AllToAllBruck,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, size, n int) {
				t.Helper()
				run(t, size, func(p message.Peer) error {
					var send, want []byte
					for q := range size {
						send = append(send, block(p.Rank(), q, n)...)
						want = append(want, block(q, p.Rank(), n)...)
					}
					recv := make([]byte, len(send))
					err := errors.Join(allToAll(p, send, recv), same(p, recv, want))
					if name == "pairwise" {
						return err
					}
					return errors.Join(err, allToAll(p, send, send), same(p, send, want))
				})
			})
		})
	}
}

// A failed message ends the algorithm with that error at the rank it hit, at
// every step of every algorithm.
func TestFailureAtEveryStep(t *testing.T) {
	const size, n = 6, 12
	for name, op := range map[string]func(p message.Peer) error{
		"barrier":   message.BarrierDissemination,
		"binomial":  func(p message.Peer) error { return message.BcastBinomial(p, data(0, n), 1) },
		"scatterag": func(p message.Peer) error { return message.BcastScatterAllGather(p, data(0, n), 1) },
		"reduce":    func(p message.Peer) error { return message.ReduceBinomial(p, data(0, n), data(0, n), 2, sum) },
		"ordered":   func(p message.Peer) error { return message.ReduceOrdered(p, data(0, n), data(0, n), 2, product) },
		"doubling":  func(p message.Peer) error { return message.AllReduceRecursiveDoubling(p, data(0, n), data(0, n), sum) },
		"raben":     func(p message.Peer) error { return message.AllReduceRabenseifner(p, data(0, n), data(0, n), sum) },
		"ring":      func(p message.Peer) error { return message.AllReduceRing(p, data(0, n), data(0, n), sum) },
		"gather":    func(p message.Peer) error { return message.GatherBinomial(p, data(0, n), joined(size, n), 3) },
		"scatter":   func(p message.Peer) error { return message.ScatterBinomial(p, joined(size, n), data(0, n), 3) },
		"agring":    func(p message.Peer) error { return message.AllGatherRing(p, data(0, n), joined(size, n)) },
		"agbruck":   func(p message.Peer) error { return message.AllGatherBruck(p, data(0, n), joined(size, n)) },
		"pairwise":  func(p message.Peer) error { return message.AllToAllPairwise(p, joined(size, n), joined(size, n)) },
		"bruck":     func(p message.Peer) error { return message.AllToAllBruck(p, joined(size, n), joined(size, n)) },
	} {
		t.Run(name, func(t *testing.T) {
			for victim := range size {
				for step := 0; ; step++ {
					members := group(size)
					members[victim].failAfter = step
					var err error
					var once sync.Once
					var wg sync.WaitGroup
					for r, m := range members {
						wg.Go(func() {
							got := op(m)
							if r == victim {
								err = got
							}
							if got != nil {
								once.Do(func() { close(m.done) })
							}
						})
					}
					wg.Wait()
					if members[victim].failAfter >= 0 {
						require.NoError(t, err)
						break
					}
					require.ErrorIs(t, err, errInjected)
				}
			}
		})
	}
}

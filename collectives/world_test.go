package collectives_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// world runs fn on size ranks, which are goroutines of this process.
func world(t *testing.T, size int, fn func(c *runtime.Comm) error) {
	t.Helper()
	require.NoError(t, runtime.Local(size, func(w *runtime.World) error { return fn(w.Comm()) }))
}

// dup duplicates a communicator. If distant, the members of the duplicate communicate as if they
// were on different nodes.
func dup(w *runtime.Comm, distant bool) (*runtime.Comm, error) {
	c, err := w.Dup()
	if err == nil && distant {
		err = errors.Join(collectives.Distant(c), collectives.Barrier(w))
	}
	return c, err
}

// sizes are numbers of ranks, from 1 to more than flatMax.
var sizes = []int{1, 2, 3, 4, 5, 8, 11}

// lengths are numbers of elements: none, one, few, and more than a slot holds.
var lengths = []int{0, 1, 5, 300, 5000}

// long is a number of elements. A block of this many elements of 8 bytes is longer than pipelineMax.
const long = 9000

// equal returns an error if got differs from want.
func equal[T comparable](c *runtime.Comm, what string, got, want []T) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s at rank %d of %d: wrong result", what, c.Rank(), c.Size())
	}
	return nil
}

// number returns element i of rank r. It is so small that sums are exact in every type.
func number[T ~int | ~int64 | ~float32 | ~float64 | ~uint16](r, i int) T { return T((r*7+i*3)%50 + 1) }

func numbers[T ~int | ~int64 | ~float32 | ~float64 | ~uint16](r, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = number[T](r, i)
	}
	return v
}

// fold combines the contributions of all ranks in the order of the ranks.
func fold[T any](size, n int, of func(r, n int) []T, op func(a, b T) T) []T {
	acc := of(0, n)
	for r := 1; r < size; r++ {
		for i, x := range of(r, n) {
			acc[i] = op(acc[i], x)
		}
	}
	return acc
}

// affine is the map x -> A*x + B modulo 2^32. The composition of such maps does not commute.
type affine struct{ A, B uint32 }

func compose(f, g affine) affine { return affine{f.A * g.A, f.A*g.B + f.B} }

func affines(r, n int) []affine {
	v := make([]affine, n)
	for i := range v {
		v[i] = affine{uint32(r*2 + i*4 + 1), uint32(r*31 + i)}
	}
	return v
}

func add(a, b float64) float64 { return a + b }

// Every operation gives right results with several sizes of group, and with lengths below and above
// the number of ranks (MPICH's coll/allred5.c): with all roots (coll/bcast.c, coll/reduce.c,
// coll/gather2.c, coll/scatter2.c), with operators that do not commute (coll/red3.c, coll/red4.c,
// coll/allred6.c), and in place (coll/allred2.c, coll/alltoall1.c, coll/scatter3.c).
func TestOperations(t *testing.T) {
	then := collectives.Func(compose, false)
	sizes := sizes
	if testing.Short() {
		sizes = []int{1, 2, 3, 8}
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			world(t, size, func(c *runtime.Comm) error {
				for _, n := range lengths {
					if err := collectives.Barrier(c); err != nil {
						return err
					}
					for root := range size {
						if err := rooted(c, n, root, then); err != nil {
							return err
						}
					}
					if err := rootless(c, n, then); err != nil {
						return err
					}
				}
				return rootless(c, long, then)
			})
		})
	}
}

// rooted runs the operations that have a root, and checks their results.
func rooted(c *runtime.Comm, n, root int, then collectives.Op) error {
	rank, size := c.Rank(), c.Size()
	atRoot := func(n int) int {
		if rank == root {
			return n
		}
		return 0
	}
	buf := make([]uint16, n)
	if rank == root {
		copy(buf, numbers[uint16](root, n))
	}
	err := errors.Join(collectives.Bcast(c, buf, root), equal(c, "bcast", buf, numbers[uint16](root, n)))

	maps := make([]affine, atRoot(n))
	err = errors.Join(err, collectives.Reduce(c, affines(rank, n), maps, then, root))
	sums := numbers[float64](rank, n)
	err = errors.Join(err, collectives.Reduce(c, sums, sums, collectives.Sum, root)) // in place
	if rank == root {
		err = errors.Join(err, equal(c, "reduce", maps, fold(size, n, affines, compose)),
			equal(c, "reduce in place", sums, fold(size, n, numbers[float64], add)))
	} else {
		err = errors.Join(err, equal(c, "send of reduce", sums, numbers[float64](rank, n)))
	}

	all := make([]int64, 0, size*n)
	for r := range size {
		all = append(all, numbers[int64](r, n)...)
	}
	rows := make([]int64, atRoot(size*n))
	mine := numbers[int64](rank, n)
	err = errors.Join(err, collectives.Gather(c, mine, rows, root), equal(c, "gather", rows, all[:atRoot(size*n)]))
	own := make([]int64, n)
	err = errors.Join(err, collectives.Scatter(c, all[:atRoot(size*n)], own, root), equal(c, "scatter", own, mine))
	if rank == root {
		clear(rows)
		own = rows[rank*n:][:n]
		copy(own, mine)
	}
	err = errors.Join(err, collectives.Gather(c, own, rows, root), equal(c, "gather in place", rows, all[:atRoot(size*n)]))
	if rank != root {
		clear(own)
	}
	err = errors.Join(err, collectives.Scatter(c, rows, own, root), equal(c, "scatter in place", own, mine))
	return errors.Join(err, equal(c, "send of scatter", rows, all[:atRoot(size*n)]))
}

// rootless runs the operations that have no root, and checks their results.
func rootless(c *runtime.Comm, n int, then collectives.Op) error {
	rank, size := c.Rank(), c.Size()
	maps := make([]affine, n)
	err := errors.Join(collectives.AllReduce(c, affines(rank, n), maps, then),
		equal(c, "allreduce", maps, fold(size, n, affines, compose)))
	sums := numbers[float64](rank, n)
	err = errors.Join(err, collectives.AllReduce(c, sums, sums, collectives.Sum), // in place
		equal(c, "allreduce in place", sums, fold(size, n, numbers[float64], add)))

	var all []int
	for r := range size {
		all = append(all, numbers[int](r, n)...)
	}
	rows := make([]int, size*n)
	err = errors.Join(err, collectives.AllGather(c, numbers[int](rank, n), rows), equal(c, "allgather", rows, all))
	clear(rows)
	own := rows[rank*n:][:n]
	copy(own, numbers[int](rank, n))
	err = errors.Join(err, collectives.AllGather(c, own, rows), equal(c, "allgather in place", rows, all))

	out, in := make([]float32, 0, size*n), make([]float32, 0, size*n)
	for r := range size {
		out = append(out, numbers[float32](rank*size+r, n)...)
		in = append(in, numbers[float32](r*size+rank, n)...)
	}
	got := make([]float32, size*n)
	err = errors.Join(err, collectives.AllToAll(c, out, got), equal(c, "alltoall", got, in))
	return errors.Join(err, collectives.AllToAll(c, out, out), equal(c, "alltoall in place", out, in))
}

// Several goroutines of a rank can run collectives at the same time, if each uses a communicator of
// its own (MPICH's threads/coll/allred.c).
func TestACollectivePerGoroutine(t *testing.T) {
	const goroutines, rounds = 5, 20
	for _, size := range []int{2, 4} {
		world(t, size, func(c *runtime.Comm) error {
			failures := make([]error, goroutines)
			var all sync.WaitGroup
			for k := range goroutines {
				d, err := c.Dup()
				if err != nil {
					return err
				}
				all.Go(func() { failures[k] = allReduces(d, k, rounds) })
			}
			all.Wait()
			return errors.Join(failures...)
		})
	}
}

// allReduces runs AllReduce with several lengths. The values depend on k and on the round, so that
// a wrong message is detected.
func allReduces(c *runtime.Comm, k, rounds int) error {
	for round := range rounds {
		n := lengths[(round+k)%len(lengths)]
		sums := numbers[float64](c.Rank()+k+round, n)
		of := func(r, n int) []float64 { return numbers[float64](r+k+round, n) }
		err := errors.Join(collectives.AllReduce(c, sums, sums, collectives.Sum),
			equal(c, fmt.Sprintf("allreduce of goroutine %d", k), sums, fold(c.Size(), n, of, add)))
		if err != nil {
			return err
		}
	}
	return nil
}

// Gather works with a result whose offsets need more than 32 bits (MPICH's coll/gather_big.c).
func TestGatherOfMoreThanFourGigabytes(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("needs GORUN_SOAK=1 and 8 GiB of memory")
	}
	world(t, 2, func(c *runtime.Comm) error {
		const n, root = 2<<30 + 5<<10, 0
		var rows []byte
		mine := make([]byte, n)
		if c.Rank() == root {
			rows = make([]byte, 2*n)
			mine = rows[:n]
		}
		mine[0], mine[n/2], mine[n-1] = byte(c.Rank()+1), byte(c.Rank()+2), byte(c.Rank()+3)
		if err := collectives.Gather(c, mine, rows, root); err != nil || c.Rank() != root {
			return err
		}
		return equal(c, "gather", []byte{rows[0], rows[n/2], rows[n-1], rows[n], rows[n+n/2], rows[2*n-1]},
			[]byte{1, 2, 3, 2, 3, 4})
	})
}

// If a member's context ends during a collective, the communicator is broken for every member.
func TestCancelBreaksTheCommunicator(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		if err := collectives.Barrier(d); err != nil {
			return err
		}
		if d.Rank() == 0 {
			// Rank 0 does not enter the AllReduce, and waits until the others have given up.
			for d.Err() == nil {
				if _, _, err := runtime.Iprobe(c, runtime.AnySource, 0); err != nil {
					return err
				}
			}
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			err := collectives.AllReduce(d.WithContext(ctx), []int{1}, []int{0}, collectives.Sum)
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("rank %d: allreduce that cannot end: %w", d.Rank(), err)
			}
		}
		if err := collectives.Barrier(d); !errors.Is(err, runtime.ErrCommBroken) {
			return fmt.Errorf("rank %d: barrier on a broken communicator: %w", d.Rank(), err)
		}
		return collectives.Barrier(c) // other communicators are not affected
	})
}

// If one member breaks the communicator, the error of another member that is in an operation names
// the source line of its own call.
func TestBrokenOperationsNameTheirLine(t *testing.T) {
	for _, distant := range []bool{false, true} {
		t.Run(fmt.Sprintf("distant=%v", distant), func(t *testing.T) {
			var under atomic.Pointer[runtime.Comm]
			world(t, 2, func(w *runtime.Comm) error {
				c, err := dup(w, distant)
				if err != nil {
					return err
				}
				if c.Rank() == 1 {
					for under.Load() == nil || collectives.Doing(under.Load()) == "" {
						goruntime.Gosched()
					}
					c.Break(errors.New("as the test wants it"))
					return nil
				}
				under.Store(c)
				err = collectives.Barrier(c)
				if !errors.Is(err, runtime.ErrCommBroken) || !strings.HasPrefix(err.Error(), "collectives: barrier: ") || !strings.Contains(err.Error(), ": at world_test.go:") {
					return fmt.Errorf("barrier of a communicator that was broken: %w", err)
				}
				return nil
			})
		})
	}
}

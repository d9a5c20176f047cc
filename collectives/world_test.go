package collectives_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// world runs fn as size ranks of this process.
func world(t *testing.T, size int, fn func(c *runtime.Comm) error) {
	t.Helper()
	require.NoError(t, runtime.Local(size, func(w *runtime.World) error { return fn(w.Comm()) }))
}

// sizes are groups from one rank to more than any flat algorithm serves.
var sizes = []int{1, 2, 3, 4, 5, 8, 11}

// lengths are element counts: none, one, small, larger than a slot.
var lengths = []int{0, 1, 5, 300, 5000}

// equal returns an error unless got is want.
func equal[T comparable](c *runtime.Comm, what string, got, want []T) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s at rank %d of %d: wrong result", what, c.Rank(), c.Size())
	}
	return nil
}

// number is element i of rank r: small enough that sums are exact in any type.
func number[T ~int | ~int64 | ~float32 | ~float64 | ~uint16](r, i int) T { return T((r*7+i*3)%50 + 1) }

func numbers[T ~int | ~int64 | ~float32 | ~float64 | ~uint16](r, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = number[T](r, i)
	}
	return v
}

// fold combines what every rank has, in order.
func fold[T any](size, n int, of func(r, n int) []T, op func(a, b T) T) []T {
	acc := of(0, n)
	for r := 1; r < size; r++ {
		for i, x := range of(r, n) {
			acc[i] = op(acc[i], x)
		}
	}
	return acc
}

// affine is x -> A*x + B modulo 2^32; composition does not commute.
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

// Every operation, on every size of group, with all roots (mpi-cases 54, 56, 57).
func TestOperations(t *testing.T) {
	then := collectives.Func(compose, false)
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
				return nil
			})
		})
	}
}

// rooted runs the operations that have a root.
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
	if rank == root && n > 0 && root%2 == 0 { // in place
		mine = rows[rank*n:][:n]
		copy(mine, numbers[int64](rank, n))
	}
	err = errors.Join(err, collectives.Gather(c, mine, rows, root), equal(c, "gather", rows, all[:atRoot(size*n)]))
	own := make([]int64, n)
	err = errors.Join(err, collectives.Scatter(c, all[:atRoot(size*n)], own, root))
	return errors.Join(err, equal(c, "scatter", own, numbers[int64](rank, n)))
}

// rootless runs the operations that have no root.
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

	out, in := make([]float32, 0, size*n), make([]float32, 0, size*n)
	for r := range size {
		out = append(out, numbers[float32](rank*size+r, n)...)
		in = append(in, numbers[float32](r*size+rank, n)...)
	}
	got := make([]float32, size*n)
	err = errors.Join(err, collectives.AllToAll(c, out, got), equal(c, "alltoall", got, in))
	return errors.Join(err, collectives.AllToAll(c, out, out), equal(c, "alltoall in place", out, in))
}

// A cancelled collective breaks the communicator for every member.
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
			// Rank 0 never comes until the others have given up.
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
		return collectives.Barrier(c) // others are not affected
	})
}

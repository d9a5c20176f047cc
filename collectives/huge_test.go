//go:build !race

// The tests are left out under the race detector, which needs at least two further bytes for each byte of
// these buffers.

package collectives_test

import (
	"errors"
	"os"
	"runtime/debug"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// hugeBytes is a length that does not fit in 32 bits. A buffer of hugeWords words has hugeBytes
// bytes.
const (
	hugeBytes = 4<<30 + 24
	hugeWords = hugeBytes / 8
)

// far32 returns five indices in a slice of n elements of the given size in bytes: both ends, the
// element at 2 GiB, and the elements on both sides of 4 GiB. An operation that computes a length or an
// offset with too few bits gives wrong values at some of these indices.
func far32(n, size int) []int {
	return []int{0, (2<<30-1)/size + 1, 4<<30/size - 1, 4 << 30 / size, n - 1}
}

// marked returns a slice whose elements at the indices of far32 depend on seed and whose other
// elements are 0. The pages of the other elements are not written, so that they take no physical
// memory.
func marked[T uint8 | uint64 | float64](n, size int, seed T) []T {
	all := make([]T, n)
	for i, at := range far32(n, size) {
		all[at] = seed + T(i)
	}
	return all
}

// at returns the elements at some indices.
func at[T any](all []T, places []int) []T {
	var some []T
	for _, i := range places {
		some = append(some, all[i])
	}
	return some
}

// marks returns the elements of marked at the indices of far32, each multiplied by factor.
func marks[T uint8 | uint64 | float64](seed, factor T) []T {
	var some []T
	for i := range 5 {
		some = append(some, (seed+T(i))*factor)
	}
	return some
}

// hugeCases are operations of two ranks with more than 4 GiB in total.
var hugeCases = map[string]func(c *runtime.Comm) error{
	"bcast": func(c *runtime.Comm) error {
		buf := make([]uint8, hugeBytes)
		if c.Rank() == 1 {
			buf = marked[uint8](hugeBytes, 1, 7)
		}
		return errors.Join(collectives.Bcast(c, buf, 1), equal(c, "bcast", at(buf, far32(hugeBytes, 1)), marks[uint8](7, 1)))
	},
	"allreduce": func(c *runtime.Comm) error {
		buf := marked(hugeWords, 8, 1.5)
		err := collectives.AllReduce(c, buf, buf, collectives.Sum)
		return errors.Join(err, equal(c, "allreduce", at(buf, far32(hugeWords, 8)), marks(1.5, 2)))
	},
	"nonblocking allreduce": func(c *runtime.Comm) error {
		buf := marked(hugeWords, 8, 1.5)
		err := waited(collectives.IAllReduce(c, buf, buf, collectives.Sum))
		return errors.Join(err, equal(c, "allreduce", at(buf, far32(hugeWords, 8)), marks(1.5, 2)))
	},
	"reduce": func(c *runtime.Comm) error {
		buf := marked[uint64](hugeWords, 8, 3)
		err := collectives.Reduce(c, buf, buf, collectives.Sum, 0)
		if err != nil || c.Rank() != 0 {
			return err
		}
		return equal(c, "reduce", at(buf, far32(hugeWords, 8)), marks[uint64](3, 2))
	},
	"scan": func(c *runtime.Comm) error {
		buf := marked[uint64](hugeWords, 8, 3)
		err := collectives.Scan(c, buf, buf, collectives.Sum)
		return errors.Join(err, equal(c, "scan", at(buf, far32(hugeWords, 8)), marks(3, uint64(c.Rank()+1))))
	},
	"reducescatterblock": func(c *runtime.Comm) error {
		send, recv := marked[uint64](hugeWords+1, 8, 3), make([]uint64, (hugeWords+1)/2)
		err := collectives.ReduceScatterBlock(c, send, recv, collectives.Sum)
		want := []uint64{6, 0}
		if c.Rank() == 1 { // its block begins with an unmarked element and ends with a marked one
			want = []uint64{0, 14}
		}
		return errors.Join(err, equal(c, "reducescatterblock", []uint64{recv[0], recv[len(recv)-1]}, want))
	},
	"allgather": func(c *runtime.Comm) error {
		const block = hugeBytes/2 + 5
		recv := make([]uint8, 2*block)
		mine := recv[c.Rank()*block:][:block]
		mine[0], mine[block-1] = uint8(c.Rank()+1), uint8(c.Rank()+3)
		err := collectives.AllGather(c, mine, recv)
		return errors.Join(err, equal(c, "allgather", at(recv, []int{0, block - 1, block, 2*block - 1}), []uint8{1, 3, 2, 4}))
	},
	"alltoall": func(c *runtime.Comm) error {
		const block = hugeBytes/2 + 5
		send, recv := make([]uint8, 2*block), make([]uint8, 2*block)
		for to := range 2 {
			send[to*block], send[to*block+block-1] = uint8(10*c.Rank()+to+1), uint8(10*c.Rank()+to+3)
		}
		err, r := collectives.AllToAll(c, send, recv), uint8(c.Rank())
		return errors.Join(err, equal(c, "alltoall", at(recv, []int{0, block - 1, block, 2*block - 1}), []uint8{1 + r, 3 + r, 11 + r, 13 + r}))
	},
	"alltoall of long blocks": func(c *runtime.Comm) error { // one message of more than 4 GiB
		send, recv := make([]uint8, hugeBytes+2), make([]uint8, hugeBytes+2)
		to := 1 - c.Rank()
		counts, displs := make([]int, 2), []int{1, 1}
		counts[to] = hugeBytes
		send[1], send[1<<32], send[hugeBytes] = 5, 6, 7
		err := collectives.AllToAllV(c, send, counts, displs, recv, counts, displs)
		return errors.Join(err, equal(c, "alltoallv", at(recv, []int{0, 1, 1 << 32, hugeBytes, hugeBytes + 1}), []uint8{0, 5, 6, 7, 0}))
	},
}

// The operations of hugeCases give right results with more than 4 GiB, through shared memory and by
// messages.
func TestMoreThanFourGigabytes(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("needs GORUN_SOAK=1 and 17 GiB of memory")
	}
	for name, run := range hugeCases {
		for _, way := range []string{"memory", "messages"} {
			t.Run(name+" by "+way, func(t *testing.T) {
				defer debug.FreeOSMemory() // returns the memory of this case to the system
				world(t, 2, func(w *runtime.Comm) error {
					c, err := dup(w, way == "messages")
					if err != nil {
						return err
					}
					return run(c)
				})
			})
		}
	}
}

package collectives_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Wrong arguments are refused before anything is sent, so that the communicator can still be used.
func TestRefusals(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		one, two, three, six := make([]int, 1), make([]int, 2), make([]int, 3), make([]int, 6)
		cases := []struct {
			name string
			err  error
			is   error
		}{
			{"bcast root", collectives.Bcast(c, one, 3), runtime.ErrRank},
			{"reduce root", collectives.Reduce(c, one, one, collectives.Sum, -1), runtime.ErrRank},
			{"gather root", collectives.Gather(c, one, three, 9), runtime.ErrRank},
			{"scatter root", collectives.Scatter(c, three, one, 9), runtime.ErrRank},
			{"allreduce length", collectives.AllReduce(c, one, two, collectives.Sum), collectives.ErrLength},
			{"reduce length", collectives.Reduce(c, two, one, collectives.Sum, c.Rank()), collectives.ErrLength},
			{"gather length", collectives.Gather(c, one, two, c.Rank()), collectives.ErrLength},
			{"scatter length", collectives.Scatter(c, two, one, c.Rank()), collectives.ErrLength},
			{"allgather length", collectives.AllGather(c, two, three), collectives.ErrLength},
			{"alltoall length", collectives.AllToAll(c, three, six), collectives.ErrLength},
			{"alltoall blocks", collectives.AllToAll(c, two, make([]int, 2)), collectives.ErrLength},
			{"allreduce overlap", collectives.AllReduce(c, six[:5], six[1:], collectives.Sum), runtime.ErrAlias},
			{"allgather overlap", collectives.AllGather(c, six[(c.Rank()+1)%3:][:1], six[:3]), runtime.ErrAlias},
			{"pointers", collectives.Bcast(c, make([]*int, 1), 0), runtime.ErrElementType},
			{"strings", collectives.AllGather(c, make([]string, 1), make([]string, 3)), runtime.ErrElementType},
			{"no communicator", collectives.Barrier(nil), runtime.ErrComm},
		}
		for _, k := range cases {
			if !errors.Is(k.err, k.is) {
				return fmt.Errorf("%s: %w", k.name, k.err)
			}
		}
		require.ErrorContains(t, cases[0].err, "collectives: bcast: ")
		require.ErrorContains(t, cases[0].err, "root 3, but the ranks are 0 to 2")
		require.ErrorContains(t, cases[4].err, "recv holds 2 elements, not 1")
		return collectives.Barrier(c)
	})
}

// A receive of the program, from any source and with any tag, gets no message of the collectives on its communicator.
// Collectives on the communicator, on its Dup and on the parts of its Split, called in turn, give right results.
// A barrier on a closed communicator returns ErrCommClosed.
func TestCommunicatorsAreSeparate(t *testing.T) {
	world(t, 6, func(c *runtime.Comm) error {
		pending := runtime.Irecv(c, make([]int, 1), runtime.AnySource, runtime.AnyTag)
		d, err := c.Dup()
		if err != nil {
			return err
		}
		half, err := c.Split(c.Rank()%2, -c.Rank())
		if err != nil {
			return err
		}
		for round := range 20 {
			for _, comm := range []*runtime.Comm{half, c, d} {
				sum := make([]int, 1)
				if err := collectives.AllReduce(comm, []int{comm.Rank() + round}, sum, collectives.Sum); err != nil {
					return err
				}
				if want := comm.Size()*(comm.Size()-1)/2 + round*comm.Size(); sum[0] != want {
					return fmt.Errorf("sum of %d ranks is %d, not %d", comm.Size(), sum[0], want)
				}
			}
		}
		if err := errors.Join(half.Close(), d.Close()); err != nil {
			return err
		}
		if err := collectives.Barrier(half); !errors.Is(err, runtime.ErrCommClosed) {
			return fmt.Errorf("barrier on a closed communicator: %w", err)
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		if err := runtime.Send(c, []int{1}, (c.Rank()+1)%6, 5); err != nil {
			return err
		}
		return waited(pending)
	})
}

// Operations of 40 ranks give right results, although one small slot of shared memory cannot hold the
// blocks of 40 ranks (mpi-cases 60).
func TestManyRanks(t *testing.T) {
	const size = 40
	lengths := []int{1, 50, 2000}
	if testing.Short() {
		lengths = lengths[:2]
	}
	world(t, size, func(c *runtime.Comm) error {
		then := collectives.Func(compose, false)
		for _, n := range lengths {
			if err := rootless(c, n, then); err != nil {
				return err
			}
			if err := rooted(c, n, 17, then); err != nil {
				return err
			}
		}
		return collectives.Barrier(c)
	})
}

// Comm.Close releases the shared memory that small and large operations on the communicator, and the attempt to read
// private memory, have opened.
func TestFreeReturnsMemory(t *testing.T) {
	world(t, 3, func(c *runtime.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		large := make([]byte, 100_000)
		err = errors.Join(collectives.Barrier(d), collectives.Bcast(d, large, 2))
		memories, found := collectives.Memories(d)
		if err := errors.Join(err, found, d.Close()); err != nil {
			return err
		}
		if len(memories) != 3 {
			return fmt.Errorf("%d memories opened", len(memories))
		}
		for _, s := range memories {
			if err := s.Close(); !errors.Is(err, runtime.ErrArgument) {
				return fmt.Errorf("memory was not closed with its communicator: %w", err)
			}
		}
		return collectives.Barrier(c)
	})
}

package message_test

import (
	"errors"
	"math/bits"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ceilLog is the number of rounds in which doubling reaches n.
func ceilLog(n int) int { return bits.Len(uint(n - 1)) }

// TestCosts compares the messages and the bytes that the busiest rank sends with what
// the head of each algorithm says. A block has n bytes, and so has what is reduced.
func TestCosts(t *testing.T) {
	const unit = 8
	power := func(size int) bool { return size&(size-1) == 0 }
	for _, c := range []struct {
		name string
		run  func(p message.Peer, size, n int) error
		cost func(size, n int) (messages, volume int)
	}{
		{"barrier", func(p message.Peer, _, _ int) error { return message.BarrierDissemination(p) }, func(size, _ int) (int, int) {
			return ceilLog(size), 0
		}},
		{"bcast binomial", func(p message.Peer, _, n int) error { return message.BcastBinomial(p, make([]byte, n), 0) }, func(size, n int) (int, int) {
			return ceilLog(size), ceilLog(size) * n
		}},
		{"bcast scatter-allgather", func(p message.Peer, _, n int) error { return message.BcastScatterAllGather(p, make([]byte, n), 0) }, func(size, n int) (int, int) {
			return ceilLog(size) + size - 1, 2 * n / size * (size - 1)
		}},
		{"reduce binomial", func(p message.Peer, _, n int) error {
			return message.ReduceBinomial(p, make([]byte, n), make([]byte, n), 0, sum)
		}, func(_, n int) (int, int) { return 1, n }},
		{"reduce ordered", func(p message.Peer, size, n int) error {
			return message.ReduceOrdered(p, make([]byte, n), make([]byte, n), size-1, product)
		}, func(_, n int) (int, int) { return 1, n }},
		{"allreduce recursive doubling", func(p message.Peer, _, n int) error {
			return message.AllReduceRecursiveDoubling(p, make([]byte, n), make([]byte, n), product)
		}, func(size, n int) (int, int) {
			rounds := bits.Len(uint(size)) - 1
			if !power(size) {
				rounds++ // the message back to the inactive partner
			}
			return rounds, rounds * n
		}},
		{"allreduce Rabenseifner", func(p message.Peer, _, n int) error {
			return message.AllReduceRabenseifner(p, make([]byte, n), make([]byte, n), sum)
		}, func(size, n int) (int, int) {
			log := bits.Len(uint(size)) - 1
			rounds, volume := 2*log, 2*(n-n>>log)
			if !power(size) {
				rounds, volume = rounds+1, volume+n
			}
			return rounds, volume
		}},
		{"allreduce ring", func(p message.Peer, _, n int) error {
			return message.AllReduceRing(p, make([]byte, n), make([]byte, n), sum)
		}, func(size, n int) (int, int) { return 2 * (size - 1), 2 * n / size * (size - 1) }},
		{"gather binomial", func(p message.Peer, size, n int) error {
			return message.GatherBinomial(p, make([]byte, n), make([]byte, n*size), 0)
		}, func(size, n int) (int, int) { return 1, n << (ceilLog(size) - 1) }},
		{"scatter binomial", func(p message.Peer, size, n int) error {
			return message.ScatterBinomial(p, make([]byte, n*size), make([]byte, n), 0)
		}, func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) }},
		{"allgather ring", func(p message.Peer, size, n int) error {
			return message.AllGatherRing(p, make([]byte, n), make([]byte, n*size))
		}, func(size, n int) (int, int) { return size - 1, n * (size - 1) }},
		{"allgather Bruck", func(p message.Peer, size, n int) error {
			return message.AllGatherBruck(p, make([]byte, n), make([]byte, n*size))
		}, func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) }},
		{"allgather recursive doubling", func(p message.Peer, size, n int) error {
			return message.AllGatherRecursiveDoubling(p, make([]byte, n), make([]byte, n*size))
		}, func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) }},
		{"alltoall pairwise", func(p message.Peer, size, n int) error {
			return message.AllToAllPairwise(p, make([]byte, n*size), make([]byte, n*size))
		}, func(size, n int) (int, int) { return size - 1, n * (size - 1) }},
		{"alltoall Bruck", func(p message.Peer, size, n int) error {
			return message.AllToAllBruck(p, make([]byte, n*size), make([]byte, n*size))
		}, func(size, n int) (int, int) {
			blocks := 0
			for d := range size {
				blocks += bits.OnesCount(uint(d))
			}
			return ceilLog(size), n * blocks
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := 2; size <= largest; size++ {
				n := unit * size << bits.Len(uint(size)) // equal blocks, also of a power of two
				messages, volume := busiest(t, size, func(p message.Peer) error { return c.run(p, size, n) })
				wantMessages, wantVolume := c.cost(size, n)
				require.Equal(t, wantMessages, messages, "messages with %d ranks", size)
				require.LessOrEqual(t, volume, wantVolume, "bytes with %d ranks", size)
			}
		})
	}
}

// busiest returns the most messages and the most bytes that a rank sends.
func busiest(t *testing.T, size int, fn func(p message.Peer) error) (messages, volume int) {
	t.Helper()
	members, errs := group(size), make([]error, size)
	var wg sync.WaitGroup
	for rank, m := range members {
		wg.Go(func() { errs[rank] = fn(m) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, m := range members {
		messages, volume = max(messages, m.sent), max(volume, m.volume)
	}
	return messages, volume
}

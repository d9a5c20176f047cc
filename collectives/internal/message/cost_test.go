package message_test

import (
	"errors"
	"math/bits"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/message/messagetest"
)

// ceilLog returns the number of rounds in which a doubling distance reaches n.
func ceilLog(n int) int { return bits.Len(uint(n - 1)) }

// floorLog returns the number of rounds for the largest power of two that is at most n.
func floorLog(n int) int { return bits.Len(uint(n)) - 1 }

// odd returns 0 if n is a power of two, otherwise 1.
func odd(n int) int {
	if n&(n-1) == 0 {
		return 0
	}
	return 1
}

// neighborCost counts a message for each neighbor that messagetest gives a rank, the rank itself
// excluded.
func neighborCost(size, n int) (messages, volume int) {
	for _, offset := range []int{1, size - 1, 1, 5} {
		if offset%size != 0 {
			messages++
		}
	}
	return messages, messages * n
}

// branches returns the number of children of the root in a k-nomial tree with size ranks, for k = 4.
func branches(size int) int {
	count := 0
	for span := 1; span < size; span *= 4 {
		count += min(3, (size-1)/span)
	}
	return count
}

// prefixes returns the largest number of messages that any rank sends in a scan. It counts the messages
// of the two passes of ScanTree. For every rank except the last one, it adds the argument more.
func prefixes(size, more int) int {
	most := 0
	for after := 1; after <= size; after++ {
		sent := 0
		for step := after & -after; step > 0; step /= 2 { // one message upwards, then the messages downwards
			if after+step <= size {
				sent++
			}
		}
		if after < size {
			sent += more
		}
		most = max(most, sent)
	}
	return most
}

// aggregated returns the costs of parallel aggregated trees, whose messages have up to 64 KiB.
func aggregated(size, n int) (messages, volume int) {
	together := max(64<<10/n, 1)
	for d := 1; d < size; d *= 2 {
		blocks := (size - d + 2*d - 1) / (2 * d)
		messages += (blocks + together - 1) / together
	}
	return messages, n * (size - 1)
}

// costs returns, for each algorithm and for size ranks, the largest number of messages and the largest
// number of bytes that any rank sends. (The doc comment of an algorithm states its time instead.)
// Blocks and reduced vectors have n bytes; blocks of different lengths have up to n bytes. The root is
// rank 0, except in ordered reductions, where it is the last rank.
var costs = map[string]func(size, n int) (messages, volume int){
	"barrier=dissemination": func(size, _ int) (int, int) { return ceilLog(size), 0 },
	"bcast=binomial":        func(size, n int) (int, int) { return ceilLog(size), ceilLog(size) * n },
	"barrier=k-nomial":      func(size, _ int) (int, int) { return max(branches(size), 1), 0 },
	"bcast=k-nomial":        func(size, n int) (int, int) { return branches(size), branches(size) * n },
	"bcast=chain": func(_, n int) (int, int) {
		each := min(max(n/16, 4<<10), 256<<10)
		return (n + each - 1) / each, n
	},
	"bcast=scatter-doubling":       func(size, n int) (int, int) { return 2 * ceilLog(size), 2 * n / size * (size - 1) },
	"bcast=scatter-allgather":      func(size, n int) (int, int) { return ceilLog(size) + size - 1, 2 * n / size * (size - 1) },
	"reduce=binomial":              func(_, n int) (int, int) { return 1, n },
	"reduce=ordered":               func(_, n int) (int, int) { return 1, n },
	"reduce=rabenseifner":          func(size, n int) (int, int) { return floorLog(size) + 1, n - n>>floorLog(size) + n/2 },
	"allreduce=recursive-doubling": func(size, n int) (int, int) { return floorLog(size) + odd(size), (floorLog(size) + odd(size)) * n },
	"allreduce=rabenseifner": func(size, n int) (int, int) {
		return 2*floorLog(size) + odd(size), 2*(n-n>>floorLog(size)) + odd(size)*n
	},
	"allreduce=ring":               func(size, n int) (int, int) { return 2 * (size - 1), 2 * n / size * (size - 1) },
	"reduce=in-order":              func(size, n int) (int, int) { return size, n },
	"allreduce=in-order":           func(size, n int) (int, int) { return 2 * (size - 1), 2 * n / size * (size - 1) },
	"reducescatter=pairwise":       func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"reducescatter=in-order":       func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"reducescatterblock=pairwise":  func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"reducescatterblock=in-order":  func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"gather=linear":                func(_, n int) (int, int) { return 1, n },
	"scatter=linear":               func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"gatherv=linear":               func(_, n int) (int, int) { return 1, n },
	"scatterv=linear":              func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"gatherv=binomial":             func(size, n int) (int, int) { return 2, (n + 8) << (ceilLog(size) - 1) },
	"scatterv=binomial":            func(size, n int) (int, int) { return 2 * ceilLog(size), (n + 8) * (size - 1) },
	"allgatherv=ring":              func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"alltoallv=pairwise":           func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"alltoallv=scattered":          func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"alltoall=scattered":           func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"allgather=direct":             func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"allgatherv=direct":            func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"scan=recursive-doubling":      func(size, n int) (int, int) { return ceilLog(size), ceilLog(size) * n },
	"scan=chain":                   func(_, n int) (int, int) { return 1, n },
	"exscan=recursive-doubling":    func(size, n int) (int, int) { return ceilLog(size), ceilLog(size) * n },
	"exscan=chain":                 func(_, n int) (int, int) { return 1, n },
	"neighborallgather=distance":   neighborCost,
	"neighborallgatherv=distance":  neighborCost,
	"neighboralltoall=distance":    neighborCost,
	"neighboralltoallv=distance":   neighborCost,
	"reducescatter=halving":        func(size, n int) (int, int) { return floorLog(size) + odd(size), n * size },
	"reducescatter=ring":           func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"reducescatter=pat":            nil, // the number of messages depends on the lengths of all parts
	"reducescatterblock=halving":   func(size, n int) (int, int) { return floorLog(size) + odd(size), n * size },
	"reducescatterblock=ring":      func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"reducescatterblock=pat":       aggregated,
	"gather=binomial":              func(size, n int) (int, int) { return 1, n << (ceilLog(size) - 1) },
	"scatter=binomial":             func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) },
	"allgather=ring":               func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"allgather=pat":                aggregated,
	"allgather=bruck":              func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) },
	"allgather=recursive-doubling": func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) },
	"allgatherv=bruck":             func(size, n int) (int, int) { return ceilLog(size), n * (size - 1) },
	"allgatherv=pat":               nil, // the number of messages depends on the lengths of all parts
	"scan=tree":                    func(size, n int) (int, int) { return prefixes(size, 0), prefixes(size, 0) * n },
	"scan=pipeline":                func(_, n int) (int, int) { each := min(max(n/16, 4<<10), 256<<10); return (n + each - 1) / each, n },
	"exscan=tree":                  func(size, n int) (int, int) { return prefixes(size, 1), prefixes(size, 1) * n },
	"alltoall=pairwise":            func(size, n int) (int, int) { return size - 1, n * (size - 1) },
	"alltoallv=bruck": func(size, n int) (int, int) {
		blocks := 0
		for d := range size {
			blocks += bits.OnesCount(uint(d))
		}
		return 2 * ceilLog(size), (n + 8) * blocks
	},
	"alltoall=bruck": func(size, n int) (int, int) {
		blocks := 0
		for d := range size {
			blocks += bits.OnesCount(uint(d))
		}
		return ceilLog(size), n * blocks
	},
}

// TestCosts compares the messages and the bytes that the busiest rank sends with the table costs.
// The messages must be as many as the table says, and the bytes at most as many.
func TestCosts(t *testing.T) {
	for _, a := range message.Algorithms() {
		name := a.Operation.String() + "=" + a.Name
		t.Run(name, func(t *testing.T) {
			cost := costs[name]
			require.Contains(t, costs, name, "no row of costs")
			if cost == nil {
				return
			}
			for size := 2; size <= largest; size++ {
				elements := size << bits.Len(uint(size)) // divisible by size, and by each power of two up to size
				cases := messagetest.Cases(&a, size, elements)
				if len(cases) == 0 {
					continue
				}
				k := cases[0]
				if a.Name == "ordered" {
					k.Root = size - 1
				}
				messages, volume := busiest(t, size, func(p message.Peer) error { return a.Run(p, k.Call(p.Rank())) })
				wantMessages, wantVolume := cost(size, elements*messagetest.Elem)
				require.Equal(t, wantMessages, messages, "messages with %d ranks", size)
				require.LessOrEqual(t, volume, wantVolume, "bytes with %d ranks", size)
			}
		})
	}
}

// busiest returns the largest number of messages and the largest number of bytes that any rank
// sends.
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

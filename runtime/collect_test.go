package runtime_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// grow uses so much stack that Go's runtime moves the stack of the goroutine.
func grow(depth int) int {
	var block [256]int
	if depth == 0 {
		return block[0]
	}
	block[depth%256] = depth
	return grow(depth-1) + block[depth%256]
}

// A rendezvous is correct while the garbage collector runs and stacks move. The buffers of the sends stay
// reachable although only requests refer to them.
func TestRendezvousDuringCollectionsAndStackGrowth(t *testing.T) {
	const n, flights, rounds = 300_000, 6, 5
	local(t, 2, func(c *runtime.Comm) {
		peer := 1 - c.Rank()
		for round := range rounds {
			var requests []runtime.Request
			var got [][]byte
			for i := range flights {
				got = append(got, make([]byte, n))
				requests = append(requests,
					runtime.Irecv(c, got[i], peer, i),
					runtime.Isend(c, pattern(make([]byte, n), round+i), peer, i))
				goruntime.GC()
				require.Positive(t, grow(200+i*50))
				_ = make([]byte, n) // overwrites a buffer that the collector has freed too early
			}
			require.NoError(t, runtime.WaitAll(requests))
			for i := range flights {
				require.Equal(t, pattern(make([]byte, n), round+i), got[i])
			}
		}
	})
}

// A blocked receive into a small local array is correct although the garbage collector may move the receiver's stack
// meanwhile. At present the compiler moves the array to the heap.
func TestReceiveIntoASmallArrayWhileBlocked(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			_, err := runtime.Recv(c, []int{0}, 1, 0)
			require.NoError(t, err)
			for range 3 {
				goruntime.GC() // shrinks the stack of rank 1's goroutine, which is blocked or about to be
			}
			require.NoError(t, runtime.Send(c, []int{1, 2, 3}, 1, 0))
			return
		}
		require.Positive(t, grow(500))
		require.NoError(t, runtime.Send(c, []int{0}, 0, 0))
		var small [3]int
		_, err := runtime.Recv(c, small[:], 0, 0)
		require.NoError(t, err)
		require.Equal(t, [3]int{1, 2, 3}, small)
	})
}

package collectives_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Nonblocking operations on several communicators of the same ranks do not receive each other's
// messages. Each rank starts the operations in its own order of the communicators, and waits for the
// operations in another order.
func TestOverlappingCommunicators(t *testing.T) {
	const ranks, comms, each = 3, 5, 6
	for _, transport := range transports {
		t.Setenv("GORUN_TRANSPORT", transport)
		require.NoError(t, runtime.Local(ranks, func(w *runtime.World) error {
			own := rand.New(rand.NewPCG(uint64(w.Rank()), 3))
			for range 4 { // communicator numbers are used again
				var list []*runtime.Comm
				var turns []int
				for i := range comms {
					c, err := w.Comm().Dup()
					require.NoError(t, err)
					list = append(list, c)
					for range each {
						turns = append(turns, i)
					}
				}
				own.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
				started := make([]int, comms)
				var requests []runtime.Request
				var got, want [][]int
				for _, i := range turns {
					step := started[i]
					started[i]++
					value, n := 1000*i+10*step, 1+step*900
					send, recv, result := make([]int, n), make([]int, n), ranks*value+3
					for at := range send {
						send[at] = value + w.Rank()
					}
					var r runtime.Request
					if step%3 == 1 {
						if result = value; w.Rank() == i%ranks {
							recv[0], recv[n-1] = value, value
						}
						r = collectives.IBcast(list[i], recv, i%ranks)
					} else {
						r = collectives.IAllReduce(list[i], send, recv, collectives.Sum)
					}
					requests, got, want = append(requests, r), append(got, recv), append(want, []int{result, result})
				}
				own.Shuffle(len(requests), func(i, j int) {
					requests[i], requests[j], got[i], got[j], want[i], want[j] = requests[j], requests[i], got[j], got[i], want[j], want[i]
				})
				for i, r := range requests {
					_, err := r.Wait()
					require.NoError(t, err)
					require.Equal(t, want[i], []int{got[i][0], got[i][len(got[i])-1]})
				}
				for _, c := range list {
					require.NoError(t, c.Close())
				}
			}
			return nil
		}))
	}
}

// InterAllToAll refuses buffers that overlap.
func TestInterAllToAllRefusesOverlaps(t *testing.T) {
	eachInter(t, func(s *side) {
		remote := s.RemoteSize()
		buf := make([]int, 2*remote)
		require.ErrorIs(t, collectives.InterAllToAll(s.Intercomm, buf[:remote], buf[:remote]), runtime.ErrAlias)
		if remote > 1 {
			require.ErrorIs(t, collectives.InterAllToAll(s.Intercomm, buf[:remote], buf[1:remote+1]), runtime.ErrAlias)
		}
		require.NoError(t, collectives.InterAllToAll(s.Intercomm, buf[:remote], buf[remote:]))
	})
}

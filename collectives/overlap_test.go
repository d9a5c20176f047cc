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

// The operations on an Intercomm in which each rank sends and receives refuse buffers that overlap, and the Intercomm
// stays usable.
func TestInterOperationsRefuseOverlaps(t *testing.T) {
	eachInterForm(t, func(s *side, f interForms) {
		for name, run := range map[string]func(send, recv []int) error{
			"InterAllToAll":  func(send, recv []int) error { return f.allToAll(s.Intercomm, send, recv) },
			"InterAllGather": func(send, recv []int) error { return f.allGather(s.Intercomm, send[:1], recv) },
			"InterAllReduce": func(send, recv []int) error { return f.allReduce(s.Intercomm, send, recv, collectives.Sum) },
		} {
			n := s.RemoteSize()
			if name == "InterAllReduce" {
				n = 2
			}
			buf := make([]int, 2*n)
			for _, from := range []int{0, n - 1} {
				err := run(buf[from:][:n], buf[:n])
				require.ErrorIs(s.t, err, runtime.ErrAlias, name)
				require.ErrorContains(s.t, err, name+": "+runtime.ErrAlias.Error()+": send and recv")
			}
			require.NoError(s.t, s.Err())
		}
		n := s.RemoteSize()
		buf := make([]int, 2*n)
		require.NoError(s.t, f.allToAll(s.Intercomm, buf[:n], buf[n:]))
		require.NoError(s.t, f.allGather(s.Intercomm, buf[:1], buf[1:][:n]))
	})
}

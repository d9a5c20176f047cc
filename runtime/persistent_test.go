package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// A persistent synchronous send completes only after its match (MPICH's pt2pt/pssend.c).
func TestPersistentSynchronousSend(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			p := runtime.SsendInit(c, []int{6}, 1, 0)
			require.NoError(t, p.Start())
			_, ok, err := p.Test()
			require.NoError(t, err)
			require.False(t, ok, "rank 1 receives after it has heard from us")
			require.NoError(t, runtime.Send[int](c, nil, 1, 1))
			require.NoError(t, second(p.Wait()))
			p.Close()
			require.ErrorIs(t, p.Start(), runtime.ErrRequest)
			return
		}
		_, err := runtime.Recv[int](c, nil, 0, 1)
		require.NoError(t, err)
		got := make([]int, 1)
		_, err = runtime.Recv(c, got, 0, 0)
		require.NoError(t, err)
		require.Equal(t, 6, got[0])
	})
}

// Persistent operations can be started in many rounds, cannot be started twice, and can be
// canceled.
func TestPersistentHaloExchange(t *testing.T) {
	const ranks, rounds = 4, 50
	local(t, ranks, func(c *runtime.Comm) {
		right, left := (c.Rank()+1)%ranks, (c.Rank()+ranks-1)%ranks
		out, in := make([]int, 1), make([]int, 1)
		send, recv := runtime.SendInit(c, out, right, 0), runtime.RecvInit(c, in, left, 0)
		require.Zero(t, send.Request(), "not started")
		_, err := send.Wait()
		require.NoError(t, err, "nothing to wait for")
		for round := range rounds {
			out[0] = c.Rank()*1000 + round
			require.NoError(t, runtime.StartAll([]*runtime.Persistent{recv, send}))
			require.ErrorIs(t, recv.Start(), runtime.ErrRequest)
			if round%2 == 0 {
				require.NoError(t, runtime.WaitAll([]runtime.Request{recv.Request(), send.Request()}))
			}
			s, err := recv.Wait()
			require.NoError(t, err)
			source := left
			if round%2 == 0 {
				source = runtime.AnySource // WaitAll has taken the result: recv.Wait returns an empty Status
			}
			require.Equal(t, source, s.Source)
			require.Equal(t, left*1000+round, in[0])
			require.NoError(t, second(send.Wait()))
		}
		require.NoError(t, recv.Start())
		recv.Cancel()
		require.ErrorIs(t, second(recv.Wait()), runtime.ErrCanceled)
	})
}

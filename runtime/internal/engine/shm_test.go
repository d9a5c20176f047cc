package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// newLocalWorld makes engines over the shared memory transport. The ranks are goroutines of this
// process.
func newLocalWorld(tb testing.TB, n int, wait engine.WaitPolicy) *world {
	tb.Helper()
	node, err := shm.NewLocalNode(n)
	require.NoError(tb, err)
	w := &world{}
	for rank := range n {
		tr, err := shm.New(node, shm.Config{Rank: rank, LocalRank: rank})
		require.NoError(tb, err)
		e, err := engine.New(engine.Config{
			Rank: rank, Size: n, Wait: wait, Sleeper: tr.Sleeper(),
			Route:      func(int) transport.Transport { return tr },
			Transports: []transport.Transport{tr},
		})
		require.NoError(tb, err)
		e.Start()
		w.engines = append(w.engines, e)
		tb.Cleanup(func() {
			require.NoError(tb, e.Close())
			require.NoError(tb, tr.Close())
		})
	}
	return w
}

var patient = engine.WaitPolicy{Yield: 100 * time.Microsecond}

func TestSharedMemoryRandomSchedules(t *testing.T) {
	for seed := range uint64(soak(5)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newLocalWorld(t, 4, patient)
			w.each(t, func(rank int, e *engine.Engine) error {
				return chat(e, rand.New(rand.NewPCG(seed, uint64(rank)+10)), rank, 4, 100)
			})
		})
	}
}

func TestSharedMemoryGoroutineStorm(t *testing.T) {
	newLocalWorld(t, 3, patient).storm(t, 12, 100)
}

// BenchmarkSharedMemory measures a ping-pong between two goroutines. ns/op is the time of one
// message, which is half of a round trip.
func BenchmarkSharedMemory(b *testing.B) {
	for _, n := range []int{8, 1024, 8192, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newLocalWorld(b, 2, engine.WaitPolicy{Spin: 20 * time.Microsecond, Yield: 100 * time.Microsecond})
			b.ReportAllocs()
			b.SetBytes(int64(n))
			rounds := (b.N + 1) / 2
			b.ResetTimer()
			w.each(b, func(rank int, e *engine.Engine) error {
				buf := make([]byte, n)
				m := engine.Match{Peer: 1 - rank, Tag: 1}
				for range rounds {
					if rank == 0 {
						if err := e.Send(none, m, 0, buf, engine.Standard); err != nil {
							return err
						}
					}
					if _, err := e.Recv(none, m, 0, buf); err != nil {
						return err
					}
					if rank == 1 {
						if err := e.Send(none, m, 0, buf, engine.Standard); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkSharedMemoryRate measures messages in one direction with 64 operations in progress.
func BenchmarkSharedMemoryRate(b *testing.B) {
	w := newLocalWorld(b, 2, engine.WaitPolicy{Spin: 20 * time.Microsecond, Yield: 100 * time.Microsecond})
	b.ReportAllocs()
	rounds := b.N/64 + 1
	b.ResetTimer()
	w.each(b, func(rank int, e *engine.Engine) error {
		buf := make([]byte, 8)
		var rs [64]engine.Handle
		m := engine.Match{Peer: 1 - rank, Tag: 1}
		for range rounds {
			for i := range rs {
				if rank == 0 {
					rs[i] = e.Isend(m, 0, buf, engine.Standard)
				} else {
					rs[i] = e.Irecv(m, 0, buf)
				}
			}
			if err := errors.Join(e.WaitAll(none, rs[:])...); err != nil {
				return err
			}
			if rank == 0 {
				if _, err := e.Recv(none, m, 0, buf); err != nil {
					return err
				}
			} else if err := e.Send(none, m, 0, buf, engine.Standard); err != nil {
				return err
			}
		}
		return nil
	})
}

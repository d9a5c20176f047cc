package runtime_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// witness is a network that records the calls of MarkDown and GiveUp.
type witness struct {
	*transporttest.Fake

	mu sync.Mutex // guards the fields below it
	// ended and givenUp have, for each rank, the peers of its calls of MarkDown and GiveUp.
	ended, givenUp [][]int
}

var _ localjob.Network = (*witness)(nil)

func newWitness(ranks int) *witness {
	fake := transporttest.NewFake(ranks, transporttest.FakeOptions{NoHandover: true})
	return &witness{Fake: fake, ended: make([][]int, ranks), givenUp: make([][]int, ranks)}
}

func (n *witness) Transport(rank int) localjob.Transport {
	return &witnessed{n.Fake.Transport(rank), n, rank}
}

func (n *witness) Explain(int, int) string { return "fake" }

// witnessed is the transport of a rank of a witness.
type witnessed struct {
	transport.Transport
	by   *witness
	rank int
}

func (t *witnessed) Abandon() error { return t.Close() }

func (t *witnessed) MarkDown(peer int, cause error) {
	t.note(t.by.ended, peer)
	t.Transport.MarkDown(peer, cause)
}

func (t *witnessed) GiveUp(peer int, cause error) {
	t.note(t.by.givenUp, peer)
	t.Transport.GiveUp(peer, cause)
}

func (t *witnessed) note(in [][]int, peer int) {
	t.by.mu.Lock()
	defer t.by.mu.Unlock()
	if !slices.Contains(in[t.rank], peer) {
		in[t.rank] = append(in[t.rank], peer)
	}
}

// When a lost rank is started again, the transport of each other rank gets a call of MarkDown for the lost rank alone,
// and a call of GiveUp for each other living rank. A transport may use memory again that only the lost rank could
// write, but not memory that a living rank may write.
func TestTransportLearnsWhichRankHasEnded(t *testing.T) {
	const ranks, victim = 3, 2
	first := newWitness(ranks)
	job, err := localjob.Start(localjob.Config{
		Ranks: ranks, Restarts: 1, Network: first, Next: func(int) localjob.Network { return newWitness(ranks) },
		Main: func(world any) error {
			return world.(*runtime.World).Resume(func(w *runtime.World) error {
				if w.Generation() == 0 && w.Rank() == victim {
					panic("lost")
				}
				return around(w)
			})
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	require.NoError(t, job.Wait(ctx))
	for rank := range victim {
		require.Equal(t, []int{victim}, first.ended[rank])
		require.Contains(t, first.givenUp[rank], 1-rank)
	}
}

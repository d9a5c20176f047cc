package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// generous is a Sleeper whose yields let another process run for some microseconds. It calls end after some yields.
type generous struct {
	transport.ChannelSleeper
	yields int
	end    func()
}

func (g *generous) Yield() {
	if g.yields--; g.yields == 0 {
		g.end()
	}
	time.Sleep(5 * time.Microsecond) // of the virtual clock
}

// measured is a counted transport whose polls take 20 ns of the virtual clock.
type measured struct {
	counted
	slow bool
}

func (m *measured) Slow() bool { return m.slow }

func (m *measured) Poll(h transport.Handler, budget int) (int, error) {
	time.Sleep(20 * time.Nanosecond)
	return m.counted.Poll(h, budget)
}

// pollsOfYields returns how often a rank polls until it has yielded the given number of times. The rank receives from
// the given peer, its policy is to spin, and its clock is virtual: other processes do not change the result.
func pollsOfYields(t *testing.T, yields, from int, slow bool) int {
	t.Helper()
	m := &measured{slow: slow}
	m.stranger = stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e, err := engine.New(engine.Config{
			Size: 2, Route: func(int) transport.Transport { return m }, Transports: []transport.Transport{m},
			Sleeper: &generous{yields: yields, end: cancel}, Wait: engine.WaitPolicy{Spin: 10 * time.Microsecond},
		})
		require.NoError(t, err)
		defer e.Close()
		_, err = e.Recv(ctx, engine.Match{Peer: from}, 0, nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	return m.polls
}

// TestPollsOfASlowNetwork checks that a rank whose policy is to spin yields after very few polls while it waits for
// a peer behind a slow network.
func TestPollsOfASlowNetwork(t *testing.T) {
	const yields = 100
	for _, from := range []int{0, engine.AnySource} {
		require.Less(t, pollsOfYields(t, yields, from, true), 3*yields) // a rank that spins does not yield
	}
}

// TestPollsOfASharedProcessor checks a rank whose policy is to spin. If its yields show that another process
// needs the processor, the rank must poll only once between two yields.
func TestPollsOfASharedProcessor(t *testing.T) {
	const yields = 300
	polls := pollsOfYields(t, yields, 0, false)
	require.Greater(t, polls, yields/2)
	require.Less(t, polls, 5*yields) // a rank that spins polls 64 times for each yield
}

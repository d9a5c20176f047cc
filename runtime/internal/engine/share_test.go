package engine_test

import (
	"context"
	"testing"
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
	for began := time.Now(); time.Since(began) < 5*time.Microsecond; { // the time passes in another process
	}
}

// sluggish is a slow transport.
type sluggish struct{ counted }

func (*sluggish) Slow() bool { return true }

// TestPollsOfASlowNetwork checks that a rank whose policy is to spin yields after very few polls while it waits for
// a peer behind a slow network.
func TestPollsOfASlowNetwork(t *testing.T) {
	const yields = 100
	for _, from := range []int{0, engine.AnySource} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := &sluggish{counted{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}}}
		e, err := engine.New(engine.Config{
			Size: 2, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
			Sleeper: &generous{yields: yields, end: cancel}, Wait: engine.WaitPolicy{Spin: time.Hour},
		})
		require.NoError(t, err)
		defer e.Close()
		_, err = e.Recv(ctx, engine.Match{Peer: from}, 0, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, s.polls, 3*yields) // a rank that spins does not yield
	}
}

// TestPollsOfASharedProcessor checks a rank whose policy is to spin. If its yields show that another process
// needs the processor, the rank must poll only once between two yields.
func TestPollsOfASharedProcessor(t *testing.T) {
	const yields = 300
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &counted{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}}
	e, err := engine.New(engine.Config{
		Size: 2, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
		Sleeper: &generous{yields: yields, end: cancel}, Wait: engine.WaitPolicy{Spin: time.Nanosecond},
	})
	require.NoError(t, err)
	defer e.Close()
	_, err = e.Recv(ctx, engine.Match{Peer: 0}, 0, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Greater(t, s.polls, yields/2)
	require.Less(t, s.polls, 5*yields) // a rank that spins polls 64 times for each yield
}

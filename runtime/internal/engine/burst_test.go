package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// turns is a stranger (stranger_test.go) that knows whether its peer has a processor. It is also a
// Sleeper that records the number of polls before each yield.
type turns struct {
	stranger
	transport.Sleeper
	away bool
	// remote is true if the endpoint does not know whether the peer has a processor.
	remote bool
	polls  int
	list   []int
	end    context.CancelFunc
}

func (s *turns) Endpoint(int) (transport.Endpoint, error) {
	if s.remote {
		return struct{ transport.Endpoint }{s}, nil // the struct hides the method Away
	}
	return s, nil
}

func (s *turns) Away() bool { return s.away }

func (s *turns) Poll(h transport.Handler, budget int) (int, error) {
	s.polls++
	return s.stranger.Poll(h, budget)
}

func (s *turns) Yield() {
	s.list = append(s.list, s.polls)
	if s.polls = 0; len(s.list) == 4 {
		s.end()
	}
}

// TestPollsBeforeAYield checks how often a receive polls before it yields when ranks outnumber
// processors. It polls once if the peer has no processor or is reached through a network, and more often
// if the peer runs. A receive from any source does not know the peer. It polls an intermediate number of
// times, or once if all peers are reached through a network.
func TestPollsBeforeAYield(t *testing.T) {
	for name, c := range map[string]struct {
		peer         int
		away, remote bool
		first, next  int
	}{
		"away": {1, true, false, 1, 1}, "there": {1, false, false, 16, 16}, "any": {engine.AnySource, true, false, 8, 8},
		"remote": {1, false, true, 1, 1}, "any, all of them remote": {engine.AnySource, false, true, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			s := &turns{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}, Sleeper: &transport.ChannelSleeper{}, away: c.away, remote: c.remote, end: cancel}
			e, err := engine.New(engine.Config{
				Size: 2, ChunkBytes: 64, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
				Sleeper: s, Wait: engine.WaitPolicy{Yield: time.Hour},
			})
			require.NoError(t, err)
			defer e.Close()
			// After this send, the engine knows the peer.
			require.NoError(t, e.Send(ctx, engine.Match{Peer: 1}, 0, nil, engine.Standard))
			s.polls, s.list = 0, nil
			_, err = e.Recv(ctx, engine.Match{Peer: c.peer}, 0, nil)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, []int{c.first + c.next, c.next, c.next, c.next}, s.list[:4])
		})
	}
}

// flood is a stranger. Each of its polls reports one event, although no frame arrives.
type flood struct {
	turns
	cancelAt int
}

func (s *flood) Endpoint(int) (transport.Endpoint, error) { return s, nil }

func (s *flood) Poll(h transport.Handler, budget int) (int, error) {
	if s.polls++; s.polls == s.cancelAt {
		s.end()
	}
	_, err := s.stranger.Poll(h, budget)
	return 1, err
}

func (s *flood) Yield() {}

// TestAFloodDoesNotKeepAWait checks that a wait ends with its context even if every poll reports
// an event.
func TestAFloodDoesNotKeepAWait(t *testing.T) {
	for _, spin := range []time.Duration{0, time.Hour} {
		ctx, cancel := context.WithCancel(context.Background())
		s := &flood{turns{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}, Sleeper: &transport.ChannelSleeper{}, away: true, end: cancel}, 1000}
		e, err := engine.New(engine.Config{
			Size: 2, ChunkBytes: 64, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
			Sleeper: s, Wait: engine.WaitPolicy{Spin: spin, Yield: time.Hour},
		})
		require.NoError(t, err)
		_, err = e.Recv(ctx, engine.Match{Peer: 1}, 0, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, e.Close())
	}
}

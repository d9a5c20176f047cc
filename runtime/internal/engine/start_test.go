package engine_test

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// counted is a stranger that counts the polls.
type counted struct {
	stranger
	polls int
}

func (s *counted) Poll(h transport.Handler, budget int) (int, error) {
	s.polls++
	return s.stranger.Poll(h, budget)
}

// TestPollersLetNewGoroutinesRun checks that a goroutine that Engine.Go has started runs soon, although another
// goroutine spins and Go has a single processor. Without Engine.Go, the waiting goroutine would poll until Go's
// scheduler preempts it, which takes 10 ms and thousands of polls.
func TestPollersLetNewGoroutinesRun(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	s := &counted{stranger: stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64}, reported: map[int]bool{}}}
	e, err := engine.New(engine.Config{
		Size: 2, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
		Wait: engine.WaitPolicy{Spin: time.Hour},
	})
	require.NoError(t, err)
	defer e.Close()
	ctx, own := context.Background(), engine.Match{Peer: 0}
	sent := make(chan error, 1)
	e.Go(func() { sent <- e.Send(ctx, own, 0, nil, engine.Standard, 0) })
	_, err = e.Recv(ctx, own, 0, nil, 0)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Less(t, s.polls, 500)
}

// TestGoroutinesAreUsedAgain checks that Go does not start a goroutine for each function, that many functions run at
// the same time, and that no goroutine is left after Close.
func TestGoroutinesAreUsedAgain(t *testing.T) {
	before := goruntime.NumGoroutine()
	e, err := engine.New(engine.Config{Size: 1})
	require.NoError(t, err)
	const calls, together = 200, 20
	seen, ran := map[uintptr]bool{}, make(chan uintptr)
	for range calls {
		e.Go(func() { ran <- engine.Goroutine() })
		seen[<-ran] = true
	}
	require.Less(t, len(seen), calls/2)
	release := make(chan struct{})
	for range together {
		e.Go(func() {
			ran <- 0
			<-release
		})
	}
	for range together {
		<-ran // no function waits for the end of another
	}
	require.NoError(t, e.Close())
	close(release)
	e.Go(func() { ran <- 0 })
	<-ran // also after Close
	for end := time.Now().Add(time.Minute); goruntime.NumGoroutine() > before; goruntime.Gosched() {
		require.True(t, time.Now().Before(end), "%d goroutines are left", goruntime.NumGoroutine()-before)
	}
}

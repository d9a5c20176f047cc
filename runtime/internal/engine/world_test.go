package engine_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// none is a nil context: calls with it cannot be cancelled.
var none context.Context

// world has n engines over one fake transport.
type world struct {
	fake    *transporttest.Fake
	engines []*engine.Engine
}

// newWorld makes engines over a fake transport. change may alter the configuration of each
// engine.
func newWorld(tb testing.TB, n int, o transporttest.FakeOptions, change func(*engine.Config)) *world {
	tb.Helper()
	return newWorldOf(tb, n, o, true, change)
}

// newWorldOf works as newWorld, with or without background progress.
func newWorldOf(tb testing.TB, n int, o transporttest.FakeOptions, start bool, change func(*engine.Config)) *world {
	tb.Helper()
	if o.MaxEager == 0 && o.EagerBest == 0 {
		o.MaxEager, o.EagerBest = 4096, 512
	}
	w := &world{fake: transporttest.NewFake(n, o)}
	for rank := range n {
		tr := w.fake.Transport(rank)
		cfg := engine.Config{
			Rank: rank, Size: n,
			Route:      func(int) transport.Transport { return tr },
			Transports: []transport.Transport{tr},
			Sleeper:    w.fake.Sleeper(rank),
			Wait:       engine.WaitPolicy{Yield: 100 * time.Microsecond},
		}
		if change != nil {
			change(&cfg)
		}
		e, err := engine.New(cfg)
		require.NoError(tb, err)
		if start {
			e.Start()
		}
		w.engines = append(w.engines, e)
		tb.Cleanup(func() {
			require.NoError(tb, e.Close())
			require.NoError(tb, tr.Close())
		})
	}
	return w
}

// each runs f for every rank on a goroutine of its own.
func (w *world) each(tb testing.TB, f func(rank int, e *engine.Engine) error) {
	tb.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(w.engines))
	for rank, e := range w.engines {
		wg.Go(func() { errs[rank] = f(rank, e) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(tb, err)
	}
}

// noise is the data from which patterns are cut. Its length is prime.
var noise = func() []byte {
	b := make([]byte, 1<<16+1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // Read returns no error
	return b
}()

// pattern returns n bytes that depend on seed and on the position.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for rest, from := b, int(uint32(seed)*0x9e3779b9>>16); len(rest) > 0; from = 0 {
		rest = rest[copy(rest, noise[from:]):]
	}
	return b
}

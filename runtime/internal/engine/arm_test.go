package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// sequence records what a goroutine does before it sleeps. The engine's lock guards prepared
// and armed.
type sequence struct {
	prepared, armed bool
	slept           atomic.Bool
}

// sequenceSleeper and sequenceTransport are the two that it is done with.
type sequenceSleeper struct {
	transport.Sleeper
	of *sequence
}

func (s *sequenceSleeper) Prepare() uint32 {
	s.of.prepared, s.of.armed = true, false
	return s.Sleeper.Prepare()
}

func (s *sequenceSleeper) Sleep(uint32, int64) { s.of.slept.Store(true) }

type sequenceTransport struct {
	transport.Transport
	of *sequence
}

func (s *sequenceTransport) Arm() bool {
	s.of.armed = s.of.prepared
	return s.Transport.Arm()
}

// A goroutine looks at its word between the arming of the transports and its sleep, and the
// transports are armed after Prepare: who changes words relies on it, see runtime.Shared.
func TestWordsAreLookedAtBehindTheArmedTransports(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of a hang
	defer cancel()
	var s sequence
	w := newWorldOf(t, 2, transporttest.FakeOptions{}, false, func(c *engine.Config) {
		if c.Rank == 1 {
			c.Sleeper = &sequenceSleeper{c.Sleeper, &s}
			c.Transports = []transport.Transport{&sequenceTransport{c.Transports[0], &s}}
		}
	})
	require.NoError(t, w.engines[1].Await(ctx, func() bool { return s.armed || s.slept.Load() }, 0, "word"))
	require.False(t, s.slept.Load())
}

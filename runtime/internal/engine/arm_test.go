package engine_test

import (
	"context"
	"errors"
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
	sleeps          chan struct{}
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

func (s *sequenceSleeper) Sleep(ticket uint32, nanos int64) {
	note(s.of.sleeps)
	s.Sleeper.Sleep(ticket, nanos)
}

type sequenceTransport struct {
	transport.Transport
	of *sequence
}

func (s *sequenceTransport) Arm() bool {
	s.of.armed = s.of.prepared
	return s.Transport.Arm()
}

// newSequence makes a rank whose goroutines sleep in a recorded sequence.
func newSequence(t *testing.T) (*engine.Engine, *sequence) {
	t.Helper()
	s := &sequence{sleeps: make(chan struct{}, 1)}
	w := newWorldOf(t, 2, transporttest.FakeOptions{}, false, func(c *engine.Config) {
		if c.Rank == 1 {
			c.Sleeper = &sequenceSleeper{c.Sleeper, s}
			c.Transports = []transport.Transport{&sequenceTransport{c.Transports[0], s}}
		}
	})
	return w.engines[1], s
}

// A goroutine looks at its word between the arming of the transports and its sleep, and the
// transports are armed after Prepare: who changes words relies on it, see runtime.Shared.
func TestWordsAreLookedAtBehindTheArmedTransports(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of a hang
	defer cancel()
	e, s := newSequence(t)
	require.NoError(t, e.Await(ctx, func() bool { return s.armed }, 0, "word"))
	require.Empty(t, s.sleeps)
}

// So it is, too, where the goroutine is parked and the one that polled in its place leaves that
// to one which has slept since before: its own Prepare knows nothing of the wait that is parked.
func TestWordsOfTheParkedAreLookedAtWhenTheTokenIsLent(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of a hang
	defer cancel()
	e, s := newSequence(t)
	var seen atomic.Bool
	ended := make(chan error, 2)
	go func() { ended <- e.Await(ctx, seen.Load, 0, "sleeper") }()
	<-s.sleeps
	parked := func() {
		looked := false
		ended <- e.Await(ctx, func() bool {
			if !looked {
				looked, s.prepared, s.armed = true, false, false
			}
			return s.armed
		}, 0, "parked")
		seen.Store(true)
		e.Rouse()
	}
	begun := false
	require.NoError(t, e.Await(ctx, func() bool {
		if !begun {
			begun = true
			go parked()
		}
		return e.Crowded() || seen.Load()
	}, 0, "poller"))
	require.NoError(t, errors.Join(<-ended, <-ended))
}

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

// sequence records what a goroutine does before it sleeps. The engine's lock guards prepared and
// armed.
type sequence struct {
	prepared, armed bool
	sleeps          chan struct{}
}

// sequenceSleeper and sequenceTransport record the calls in a sequence.
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

// newSequence makes a rank whose goroutines record what they do before they sleep.
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

// TestWordsAreLookedAtBehindTheArmedTransports checks the order of steps before a goroutine
// sleeps: Prepare, arming of the transports, check of the word for which the goroutine waits. A
// goroutine that changes a word relies on this order (see runtime.Shared).
func TestWordsAreLookedAtBehindTheArmedTransports(t *testing.T) {
	// The timeout ends a hang.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, s := newSequence(t)
	require.NoError(t, e.Await(ctx, func() bool { return s.armed }, "word"))
	require.Empty(t, s.sleeps)
}

// TestWordsOfTheParkedAreLookedAtWhenTheTokenIsLent checks the same order for a parked goroutine. The
// goroutine that polled for the parked one lends the poll token to a third goroutine. The third
// goroutine began to sleep before the wait of the parked one began. Its Prepare was therefore too
// early for that wait.
func TestWordsOfTheParkedAreLookedAtWhenTheTokenIsLent(t *testing.T) {
	// The timeout ends a hang.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, s := newSequence(t)
	var seen atomic.Bool
	ended := make(chan error, 2)
	go func() { ended <- e.Await(ctx, seen.Load, "sleeper") }()
	<-s.sleeps
	parked := func() {
		looked := false
		ended <- e.Await(ctx, func() bool {
			if !looked {
				looked, s.prepared, s.armed = true, false, false
			}
			return s.armed
		}, "parked")
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
	}, "poller"))
	require.NoError(t, errors.Join(<-ended, <-ended))
}

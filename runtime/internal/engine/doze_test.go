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

// dozer is a Sleeper that reports the beginning of every Sleep.
type dozer struct {
	transport.Sleeper
	dozing chan struct{}
}

func (d *dozer) Sleep(ticket uint32, nanos int64) {
	note(d.dozing)
	d.Sleeper.Sleep(ticket, nanos)
}

// TestSleeperIsWokenByThePollerInItsPlace checks a sleeping goroutine whose message is found by
// the goroutine that polls in its place. The polling goroutine must wake it, because an arrival
// rings no doorbell while a goroutine polls.
func TestSleeperIsWokenByThePollerInItsPlace(t *testing.T) {
	for name, goesOn := range map[string]bool{"the poller waits on": true, "the poller's wait ends with it": false} {
		t.Run(name, func(t *testing.T) {
			// The timeout ends a hang.
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			heard, d := 0, &dozer{dozing: make(chan struct{}, 1)}
			w := newWorldOf(t, 2, transporttest.FakeOptions{}, false, func(c *engine.Config) {
				if c.Rank == 1 {
					d.Sleeper, c.Sleeper = c.Sleeper, d
					c.Notice = func(int, int, []byte) { heard++ }
				}
			})
			e := w.engines[1]
			var told atomic.Bool
			ended := make(chan error, 1)
			go func() {
				err := e.Await(ctx, func() bool { return heard > 0 }, "notice")
				told.Store(true)
				e.Rouse()
				ended <- err
			}()
			<-d.dozing
			looks := 0
			require.NoError(t, e.Await(ctx, func() bool {
				looks++
				// At the first call of this function, the calling goroutine has not taken the
				// sleeper's token yet.
				if looks == 2 {
					w.engines[0].Notify(1, 0, nil)
				}
				return told.Load() || !goesOn && heard > 0
			}, "other"))
			require.NoError(t, <-ended)
		})
	}
}

// idler is a Sleeper that reports whether goroutines go to sleep by Sleep or by Idle.
type idler struct {
	transport.Sleeper
	slept, idled chan struct{}
}

func (d *idler) Sleep(ticket uint32, nanos int64) {
	note(d.slept)
	d.Sleeper.Sleep(ticket, nanos)
}

func (d *idler) Idle(ticket uint32, nanos int64) {
	note(d.idled)
	d.Sleeper.Idle(ticket, nanos)
}

// note puts a value into a channel with room for one value. It does nothing if the channel is full.
func note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// TestBackgroundLeavesTheProcessor checks that the background goroutine sleeps with Idle, which
// leaves Go's processor to goroutines that compute. A goroutine that waits must use Sleep, which
// costs less.
func TestBackgroundLeavesTheProcessor(t *testing.T) {
	d := &idler{slept: make(chan struct{}, 1), idled: make(chan struct{}, 1)}
	w := newWorldOf(t, 2, transporttest.FakeOptions{}, true, func(c *engine.Config) {
		if c.Rank == 1 {
			d.Sleeper, c.Sleeper = c.Sleeper, d
		}
	})
	<-d.idled
	require.Empty(t, d.slept)
	received := make(chan error, 1)
	go func() {
		_, err := w.engines[1].Recv(none, engine.Match{Peer: 0}, 0, nil)
		received <- err
	}()
	<-d.slept
	require.NoError(t, w.engines[0].Send(none, engine.Match{Peer: 1}, 0, nil, engine.Standard))
	require.NoError(t, <-received)
}

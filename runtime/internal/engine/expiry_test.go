package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

var errCause = errors.New("the cause of the end")

// TestContextsEndWaits checks that the end of a context.Context ends a wait, whether its goroutine polls, yields,
// sleeps, or is parked because another goroutine polls.
func TestContextsEndWaits(t *testing.T) {
	for name, policy := range map[string]engine.WaitPolicy{
		"polls": {Spin: time.Hour}, "yields": {Yield: time.Hour}, "sleeps": {},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := engine.New(engine.Config{Size: 1, Wait: policy})
			require.NoError(t, err)
			defer e.Close()
			const waits = 3 // one goroutine has the poll token, the others are parked
			var end [waits]context.CancelCauseFunc
			ended := make([]chan error, waits)
			for i := range waits {
				var ctx context.Context
				ctx, end[i] = context.WithCancelCause(context.Background())
				ended[i] = make(chan error, 1)
				go func() {
					_, err := e.Recv(ctx, engine.Match{Peer: 0, Tag: i}, 0, nil)
					ended[i] <- err
				}()
			}
			for len(e.Blocked()) < waits {
				time.Sleep(time.Millisecond) // nothing reports that a wait has begun
			}
			for i := range waits {
				end[i](errCause)
				require.ErrorIs(t, <-ended[i], errCause)
			}
		})
	}
}

// TestContextEndsBeforeASleep ends a context.Context while a goroutine goes from polling to sleep.
func TestContextEndsBeforeASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(engine.Config{Size: 1})
		require.NoError(t, err)
		defer e.Close()
		for range 100 {
			ctx, end := context.WithCancel(context.Background())
			go end()
			_, err := e.Recv(ctx, engine.Match{Peer: 0}, 0, nil)
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

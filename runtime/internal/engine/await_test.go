package engine_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// TestAwaitAfterClose checks that the function given to Await is not called after Close has returned, because the
// memory that it reads may be gone.
func TestAwaitAfterClose(t *testing.T) {
	for range 200 {
		e, err := engine.New(engine.Config{Size: 1})
		require.NoError(t, err)
		e.Start()
		var closed, late atomic.Bool
		ended := make(chan error, 1)
		go func() {
			ended <- e.Await(none, func() bool {
				late.Store(late.Load() || closed.Load())
				return false
			}, "a word that does not change")
		}()
		soonTrue(t, func() bool { return len(e.Blocked()) == 1 })
		require.NoError(t, e.Close())
		closed.Store(true)
		require.ErrorIs(t, <-ended, engine.ErrClosed)
		require.False(t, late.Load())
	}
}

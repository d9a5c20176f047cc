package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// In an inline handler, a Wait for a function that has returned fails as long as the message that completes the request
// has not been sent. It does not cancel the receive of that message, which nothing else would receive.
func TestInlineWaitBeforeTheCompletion(t *testing.T) {
	require.NoError(t, Local(1, func(w *World) error {
		c := w.Comm()
		k := newTask(c, nil)
		r := Request{comm: c, rest: &k.rest, operation: c.engine.Irecv(k.end, 0, nil)}
		k.over = true // as finish does before it sends the message
		ready := func() bool { return true }
		require.NoError(t, w.engine.Serve(ready, ready, func() engine.Next {
			_, err := r.Wait()
			require.ErrorIs(t, err, ErrInline)
			k.finish()
			_, err = r.Wait()
			require.NoError(t, err)
			return engine.Leave
		}))
		require.Empty(t, w.engine.Unreceived())
		return nil
	}))
}

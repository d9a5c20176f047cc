package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestCancelAfterAMatchedProbeIsTooLate checks that a message that a matched probe has taken is
// received, although the sender cancels it afterwards.
func TestCancelAfterAMatchedProbeIsTooLate(t *testing.T) {
	for _, c := range []struct {
		name    string
		options transporttest.FakeOptions
		size    int
		mode    engine.Mode
	}{
		{"synchronous", transporttest.FakeOptions{}, 100, engine.Synchronous},
		{"get", transporttest.FakeOptions{NoPut: true}, 20_000, engine.Standard},
		{"put", transporttest.FakeOptions{NoGet: true}, 20_000, engine.Standard},
		{"copy", transporttest.FakeOptions{NoGet: true, NoPut: true}, 20_000, engine.Standard},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := quiet(t, c.options)
			send := w.engines[0].Isend(at(1, 4), 0, pattern(c.size, 3), c.mode)
			var m *engine.Matched
			for range 1000 {
				w.step(2)
				var ok bool
				var err error
				if m, ok, err = w.engines[1].Improbe(at(0, 4)); ok || err != nil {
					require.NoError(t, err)
					break
				}
			}
			require.NotNil(t, m)
			send.Cancel()
			w.step(20)
			require.False(t, send.Done())
			in := make([]byte, c.size)
			s, err := w.finish(t, m.Irecv(0, in))
			require.NoError(t, err)
			require.Equal(t, c.size, s.Bytes)
			require.Equal(t, pattern(c.size, 3), in)
			_, err = w.finish(t, send)
			require.NoError(t, err)
			w.settle(t)
		})
	}
}

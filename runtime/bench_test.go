package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// BenchmarkSelf sends 8 bytes to the rank itself and receives them. The messages take the whole
// path through this package without a wait. The subbenchmark Engine does the same without this
// package.
func BenchmarkSelf(b *testing.B) {
	b.Run("SendRecv", func(b *testing.B) {
		alone(b, func(c *runtime.Comm) {
			out, in := []int{1}, []int{0}
			for b.Loop() {
				_ = runtime.Send(c, out, 0, 1)
				_, _ = runtime.Recv(c, in, 0, 1)
			}
		})
	})
	b.Run("Nonblocking", func(b *testing.B) {
		alone(b, func(c *runtime.Comm) {
			out, in := []int{1}, []int{0}
			for b.Loop() {
				r := runtime.Irecv(c, in, 0, 1)
				s := runtime.Isend(c, out, 0, 1)
				_ = runtime.WaitAll([]runtime.Request{s, r})
			}
		})
	})
	b.Run("Exchange", func(b *testing.B) {
		alone(b, func(c *runtime.Comm) {
			out, in := []int{1}, []int{0}
			for b.Loop() {
				_, _ = runtime.SendRecv(c, out, 0, 1, in, 0, 1)
			}
		})
	})
	b.Run("Engine", func(b *testing.B) {
		e, err := engine.New(engine.Config{Size: 1})
		require.NoError(b, err)
		defer func() { require.NoError(b, e.Close()) }()
		out, in := make([]byte, 8), make([]byte, 8)
		m := engine.Match{Peer: 0, Tag: 1}
		ctx := b.Context()
		for b.Loop() {
			_ = e.Send(ctx, m, 7, out, engine.Standard)
			_, _ = e.Recv(ctx, m, 7, in)
		}
	})
}

// alone runs fn as the one rank of a World.
func alone(tb testing.TB, fn func(c *runtime.Comm)) {
	tb.Helper()
	require.NoError(tb, runtime.Local(1, func(w *runtime.World) error {
		fn(w.Comm())
		return nil
	}))
}

// BenchmarkPingPong measures the round trip of 8 bytes between two ranks in goroutines.
func BenchmarkPingPong(b *testing.B) {
	require.NoError(b, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		buf := make([]byte, 8)
		if c.Rank() == 1 {
			for {
				s, err := runtime.Recv(c, buf, 0, runtime.AnyTag)
				if err != nil || s.Tag == 1 {
					return err
				}
				if err := runtime.Send(c, buf, 0, 0); err != nil {
					return err
				}
			}
		}
		for b.Loop() {
			if err := runtime.Send(c, buf, 1, 0); err != nil {
				return err
			}
			if _, err := runtime.Recv(c, buf, 1, 0); err != nil {
				return err
			}
		}
		return runtime.Send(c, buf, 1, 1)
	}))
}

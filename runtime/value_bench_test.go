package runtime_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// BenchmarkStream sends the same bytes from one rank to another as plain messages, as values, and
// as a stream.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{8, 1 << 10, 64 << 10} {
		payload := make([]byte, n)
		for name, end := range map[string]struct {
			send, recv func(c *runtime.Comm, n int) error
		}{
			"messages": {
				func(c *runtime.Comm, n int) error {
					for range n {
						if err := runtime.Send(c, payload, 1, 0); err != nil {
							return err
						}
					}
					return nil
				},
				func(c *runtime.Comm, n int) error {
					in := make([]byte, len(payload))
					for range n {
						if _, err := runtime.Recv(c, in, 0, 0); err != nil {
							return err
						}
					}
					return nil
				},
			},
			"values": {
				func(c *runtime.Comm, n int) error {
					for range n {
						if err := runtime.SendValue(c, payload, 1, 0); err != nil {
							return err
						}
					}
					return nil
				},
				func(c *runtime.Comm, n int) error {
					for range n {
						if _, _, err := runtime.RecvValue[[]byte](c, 0, 0); err != nil {
							return err
						}
					}
					return nil
				},
			},
			"stream": {
				func(c *runtime.Comm, n int) error {
					return runtime.SendStream(c, func(yield func([]byte, error) bool) {
						for range n {
							if !yield(payload, nil) {
								return
							}
						}
					}, 1, 0)
				},
				func(c *runtime.Comm, _ int) error {
					for _, err := range runtime.Stream[[]byte](c, 0, 0) {
						if err != nil {
							return err
						}
					}
					return nil
				},
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				require.NoError(b, runtime.Local(2, func(w *runtime.World) error {
					if w.Rank() == 0 {
						return end.send(w.Comm(), b.N)
					}
					return end.recv(w.Comm(), b.N)
				}))
			})
		}
	}
}

// BenchmarkValues encodes values, sends them to the rank itself, and receives and decodes them.
func BenchmarkValues(b *testing.B) {
	graph := map[int][]int{}
	for i := range 100 {
		graph[i] = []int{i + 1, i + 2}
	}
	b.Run("map", func(b *testing.B) { benchmarkValue(b, graph) })
	b.Run("struct", func(b *testing.B) { benchmarkValue(b, accountOf(10)) })
	b.Run("number", func(b *testing.B) { benchmarkValue(b, 1.5) })
	b.Run("text", func(b *testing.B) { benchmarkValue(b, "text") })
}

func benchmarkValue[T any](b *testing.B, v T) {
	b.Helper()
	b.ReportAllocs()
	alone(b, func(c *runtime.Comm) {
		for b.Loop() {
			_ = runtime.SendValue(c, v, 0, 0)
			if _, _, err := runtime.RecvValue[T](c, 0, 0); err != nil {
				b.Error(err)
			}
		}
	})
}

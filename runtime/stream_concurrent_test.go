package runtime_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// pairs yields n pairs of the number of a stream and the index of the value. When it has yielded the pair whose
// index is the argument at, it calls reached.
func pairs(stream, n, at int, reached func()) func(yield func([2]int, error) bool) {
	return func(yield func([2]int, error) bool) {
		for i := range n {
			if !yield([2]int{stream, i}, nil) {
				return
			}
			if i == at {
				reached()
			}
		}
	}
}

// nothing does nothing. Tests pass it to pairs as the argument reached.
func nothing() {}

// A loop from AnySource within a loop over another stream with the same tag receives no value of that other stream,
// although values of the other stream arrive first.
func TestStreamsFromAnySource(t *testing.T) {
	overTransports(t, 3, func(c *runtime.Comm) {
		const n, tag = 300, 3
		switch c.Rank() {
		case 1: // rank 2 begins when 100 values of rank 1 are under way
			begin := func() { require.NoError(t, runtime.Send(c, []int{1}, 2, 0)) }
			require.NoError(t, runtime.SendStream(c, pairs(1, n, 100, begin), 0, tag))
			return
		case 2:
			_, err := runtime.Recv(c, make([]int, 1), 1, 0)
			require.NoError(t, err)
			require.NoError(t, runtime.SendStream(c, pairs(2, n, 0, nothing), 0, tag))
			return
		}
		i := 0
		for outer, err := range runtime.Stream[[2]int](c, runtime.AnySource, tag) {
			require.NoError(t, err)
			require.Equal(t, [2]int{1, i}, outer)
			if i++; i > 1 {
				continue
			}
			k := 0
			for inner, err := range runtime.Stream[[2]int](c, runtime.AnySource, tag) {
				require.NoError(t, err)
				require.Equal(t, [2]int{2, k}, inner)
				k++
			}
			require.Equal(t, n, k)
		}
		require.Equal(t, n, i)
	})
}

// Streams with the same tag go from one rank to another at the same time. Each loop receives all values of one of
// them, and each SendStream gets the credits of its own stream.
func TestStreamsWithOneTag(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		const streams, n, tag = 4, 500, 3
		var all sync.WaitGroup
		var received [streams]atomic.Bool
		for s := range streams {
			all.Go(func() {
				if c.Rank() == 0 {
					require.NoError(t, runtime.SendStream(c, pairs(s, n, 0, nothing), 1, tag))
					return
				}
				stream, i := -1, 0
				for v, err := range runtime.Stream[[2]int](c, []int{0, runtime.AnySource}[s%2], tag) {
					require.NoError(t, err)
					if i == 0 {
						stream = v[0]
					}
					require.Equal(t, [2]int{stream, i}, v)
					i++
				}
				require.Equal(t, n, i)
				require.False(t, received[stream].Swap(true), "two loops received stream %d", stream)
			})
		}
		all.Wait()
	})
}

// If the sequence of a SendStream panics and the program recovers from the panic, the receiver gets a StreamError
// after the values that were sent before.
func TestStreamOfASequenceThatPanics(t *testing.T) {
	for _, before := range []int{0, 3} {
		local(t, 2, func(c *runtime.Comm) {
			if c.Rank() == 0 {
				require.PanicsWithValue(t, "a panic of the sequence", func() {
					_ = runtime.SendStream(c, func(yield func(int, error) bool) {
						for i := range before {
							yield(i, nil)
						}
						panic("a panic of the sequence")
					}, 1, 0)
				})
				return
			}
			n := 0
			var last error
			for _, err := range runtime.Stream[int](c, 0, 0) {
				if last = err; err == nil {
					n++
				}
			}
			require.Equal(t, before, n)
			var failed *runtime.StreamError
			require.ErrorAs(t, last, &failed)
		})
	}
}

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// counting yields n values, make(0), make(1), ..., then err if it is not nil. made counts the values.
func counting[T any](n int, made *atomic.Int64, err error, make func(i int) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range n {
			made.Add(1)
			if !yield(make(i), nil) {
				return
			}
		}
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// A stream delivers its values in order and ends, even if all values together, or a single value, exceed the window.
func TestStreams(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		var made atomic.Int64
		for _, n := range []int{0, 1, 127, 128, 129, 1000} {
			number := func(i int) int { return i * n }
			text := func(i int) []string { return []string{fmt.Sprint(i), strings.Repeat("x", 3*i%7*50_000)} }
			if c.Rank() == 0 {
				require.NoError(t, runtime.SendStream(c, counting(n, &made, nil, number), 1, 5))
				require.NoError(t, runtime.SendStream(c, counting(n/10, &made, nil, text), 1, 5))
				continue
			}
			source := []int{0, runtime.AnySource}[n%2]
			i := 0
			for v, err := range runtime.Stream[int](c, source, 5) {
				require.NoError(t, err)
				require.Equal(t, number(i), v)
				i++
			}
			require.Equal(t, n, i)
			i = 0
			for v, err := range runtime.Stream[[]string](c, source, 5) {
				require.NoError(t, err)
				require.Equal(t, text(i), v)
				i++
			}
			require.Equal(t, n/10, i)
		}
	})
}

// Values that are received after a stream contain no bytes of the last value of the stream.
func TestStreamBeforeValues(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for i := range 20 {
			want := accountOf(i)
			if c.Rank() == 0 {
				var made atomic.Int64
				require.NoError(t, runtime.SendStream(c, counting(2, &made, nil, func(int) string { return "text" }), 1, 0))
			} else {
				for v, err := range runtime.Stream[string](c, 0, 0) {
					require.NoError(t, err)
					require.Equal(t, "text", v)
				}
			}
			require.NoError(t, runtime.SendValue(c, want, 1-c.Rank(), 0))
			got, _, err := runtime.RecvValue[account](c, 1-c.Rank(), 0)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

// A library's stream is separate from the program's, although both have the same source and tag.
func TestStreamsOfLibraries(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		send := func(c *runtime.Comm, v int) error {
			var made atomic.Int64
			return runtime.SendStream(c, counting(300, &made, nil, func(int) int { return v }), 1, 0)
		}
		if c.Rank() == 0 {
			library := runtime.NewRequest(c, func(c *runtime.Comm) error { return send(c.Private(), 1) })
			require.NoError(t, send(c, 2))
			_, err := library.Wait()
			require.NoError(t, err)
			return
		}
		for i, c := range []*runtime.Comm{c, c.Private()} {
			for v, err := range runtime.Stream[int](c, 0, 0) {
				require.NoError(t, err)
				require.Equal(t, 2-i, v)
			}
		}
	})
}

// Closing a communicator ends the streams that this rank sends or receives on it.
func TestStreamsOfAClosedCommunicator(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		if c.Rank() == 0 {
			i := 0
			var last error
			for _, err := range runtime.Stream[int](dup, 1, 0) {
				if last = err; i == 0 {
					go func() { _ = dup.Close() }() // the loop waits for a value that is never sent
				}
				i++
			}
			require.ErrorIs(t, last, runtime.ErrCommClosed)
			require.NoError(t, runtime.Send(c, []int{1}, 1, 1))
			return
		}
		err = runtime.SendStream(dup, func(yield func(int, error) bool) {
			require.True(t, yield(1, nil))
			_, err := runtime.Recv(c, make([]int, 1), 0, 1)
			require.NoError(t, err)
			go func() { _ = dup.Close() }()
			for yield(2, nil) {
			}
		}, 0, 0)
		require.ErrorIs(t, err, runtime.ErrCommClosed)
	})
}

// A stream can carry values of an interface type, and nil.
func TestStreamOfInterfaces(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		values := []any{nil, 1, nil, "two"}
		if c.Rank() == 0 {
			var made atomic.Int64
			require.NoError(t, runtime.SendStream(c, counting(len(values), &made, nil, func(i int) any { return values[i] }), 1, 0))
			return
		}
		var got []any
		for v, err := range runtime.Stream[any](c, 0, 0) {
			require.NoError(t, err)
			got = append(got, v)
		}
		require.Equal(t, values, got)
	})
}

// A sender is never further ahead of its receiver than the window allows.
func TestStreamHasBackPressure(t *testing.T) {
	for name, c := range map[string]struct{ values, bytes, ahead int }{
		"many":  {400, 1, 128},
		"eager": {400, 1000, 128},
		"long":  {60, 30_000, 9},
		"huge":  {10, 1 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var made, taken atomic.Int64
			overTransports(t, 2, func(comm *runtime.Comm) {
				if comm.Rank() == 0 {
					made.Store(0)
					taken.Store(0)
				}
				require.NoError(t, runtime.Send(comm, []int{1}, 1-comm.Rank(), 1))
				_, err := runtime.Recv(comm, make([]int, 1), 1-comm.Rank(), 1)
				require.NoError(t, err)
				if comm.Rank() == 0 {
					all := func(int) []byte { return make([]byte, c.bytes) }
					require.NoError(t, runtime.SendStream(comm, counting(c.values, &made, nil, all), 1, 0))
					return
				}
				for v, err := range runtime.Stream[[]byte](comm, 0, 0) {
					require.NoError(t, err)
					require.Len(t, v, c.bytes)
					taken.Add(1)
					// One value is in the receiver's loop, and the sender made one before it waited for credit.
					require.LessOrEqual(t, made.Load()-taken.Load(), int64(c.ahead)+2)
				}
				require.EqualValues(t, c.values, taken.Load())
			})
		})
	}
}

// If the receiver leaves its loop, the sender gets ErrStreamStopped, whatever it waits for. The
// next stream does not receive the values that were sent before.
func TestStreamIsLeftEarly(t *testing.T) {
	for name, bytes := range map[string]int{"short": 8, "long": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			overTransports(t, 2, func(c *runtime.Comm) {
				for round := range 10 {
					if c.Rank() == 0 {
						var made atomic.Int64
						left := false
						err := runtime.SendStream(c, func(yield func([]byte, error) bool) {
							for made.Add(1); yield(make([]byte, bytes), nil); made.Add(1) {
							}
							left = true
						}, 1, 3)
						require.ErrorIs(t, err, runtime.ErrStreamStopped)
						require.ErrorContains(t, err, fmt.Sprintf("after %d values", round))
						require.True(t, left)
						require.NoError(t, runtime.SendStream(c, counting(3, &made, nil, func(i int) int { return i }), 1, 3))
						continue
					}
					i := 0
					for _, err := range runtime.Stream[[]byte](c, 0, 3) {
						require.NoError(t, err)
						if i == round {
							break
						}
						i++
					}
					var got []int
					for v, err := range runtime.Stream[int](c, runtime.AnySource, 3) {
						require.NoError(t, err)
						got = append(got, v)
					}
					require.Equal(t, []int{0, 1, 2}, got)
				}
			})
		})
	}
}

// An error at the sender arrives at the receiver after the values that were sent before it.
func TestStreamFailures(t *testing.T) {
	failed := errors.New("the file ends")
	overTransports(t, 2, func(c *runtime.Comm) {
		receive := func(n int, text string) {
			i := 0
			var last error
			for _, err := range runtime.Stream[any](c, 0, 0) {
				if last = err; err == nil {
					i++
				}
			}
			require.Equal(t, n, i)
			var e *runtime.StreamError
			require.ErrorAs(t, last, &e)
			require.Equal(t, [2]int{0, 0}, [2]int{e.Source, e.Tag})
			require.Contains(t, e.Text, text)
		}
		if c.Rank() == 1 {
			receive(0, "the file ends")
			receive(200, "the file ends")
			receive(1, "not registered")
			receive(1, "canceled")
			return
		}
		var made atomic.Int64
		same := func(i int) any { return i }
		require.ErrorIs(t, runtime.SendStream(c, counting(0, &made, failed, same), 1, 0), failed)
		require.ErrorIs(t, runtime.SendStream(c, counting(200, &made, failed, same), 1, 0), failed)
		var bad *runtime.ValueError
		err := runtime.SendStream(c, counting(5, &made, nil, func(i int) any { return []any{1, account{}}[i] }), 1, 0)
		require.ErrorAs(t, err, &bad)
		ctx, cancel := context.WithCancel(t.Context())
		err = runtime.SendStream(c.WithContext(ctx), func(yield func(any, error) bool) {
			yield(1, nil)
			cancel()
			yield(make([]byte, 1), ctx.Err())
		}, 1, 0)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A receiver of another type gets an error with both types, and the sender gets ErrStreamStopped.
func TestStreamMismatch(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			err := runtime.SendStream(c, func(yield func(string, error) bool) {
				for yield("x", nil) {
				}
			}, 1, 0)
			require.ErrorIs(t, err, runtime.ErrStreamStopped)
			return
		}
		n := 0
		for _, err := range runtime.Stream[int](c, 0, 0) {
			n++
			var m *runtime.TypeMismatchError
			require.ErrorAs(t, err, &m)
			require.Equal(t, [2]string{"string (text)", "int ({int64})"}, [2]string{m.Sent, m.Want})
		}
		require.Equal(t, 1, n)
	})
}

// Wrong arguments of SendStream and Stream are refused, and streams with ProcNull are empty.
func TestStreamArguments(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		none := counting(0, new(atomic.Int64), nil, func(i int) int { return i })
		require.ErrorIs(t, runtime.SendStream[int](c, nil, 0, 0), runtime.ErrArgument)
		require.ErrorIs(t, runtime.SendStream(c, none, 1, 0), runtime.ErrRank)
		require.ErrorIs(t, runtime.SendStream(c, none, 0, -1), runtime.ErrTag)
		require.ErrorIs(t, runtime.SendStream(nil, none, 0, 0), runtime.ErrComm)
		require.NoError(t, runtime.SendStream(c, none, runtime.ProcNull, 0))
		for want, s := range map[error]iter.Seq2[int, error]{
			runtime.ErrRank: runtime.Stream[int](c, 1, 0),
			runtime.ErrTag:  runtime.Stream[int](c, 0, runtime.AnyTag),
			runtime.ErrComm: runtime.Stream[int](nil, 0, 0),
		} {
			n := 0
			for _, err := range s {
				require.ErrorIs(t, err, want)
				n++
			}
			require.Equal(t, 1, n)
		}
		for range runtime.Stream[int](c, runtime.ProcNull, 0) {
			t.Error("a value from ProcNull")
		}
	})
}

// Streams to both neighbours in a ring run at the same time with one tag. The sends run in goroutines.
func TestStreamsCrossEachOther(t *testing.T) {
	const size, n = 4, 300
	overTransports(t, size, func(c *runtime.Comm) {
		right, left := (c.Rank()+1)%size, (c.Rank()+size-1)%size
		var sends []runtime.Request
		for _, to := range []int{right, left} {
			sends = append(sends, runtime.NewRequest(c, func(c *runtime.Comm) error {
				var made atomic.Int64
				return runtime.SendStream(c, counting(n, &made, nil, func(i int) [2]int { return [2]int{c.Rank(), i} }), to, 1)
			}))
		}
		for _, from := range []int{left, right} {
			i := 0
			for v, err := range runtime.Stream[[2]int](c, from, 1) {
				require.NoError(t, err)
				require.Equal(t, [2]int{from, i}, v)
				i++
			}
			require.Equal(t, n, i)
		}
		require.NoError(t, runtime.WaitAll(sends))
	})
}

func init() {
	programs["stream"] = func() { runtime.Main(streamToTheLost) }
}

// streamToTheLost kills rank 1, which receives one stream and sends another.
func streamToTheLost(w *runtime.World) error {
	c := w.Comm()
	endless := func(yield func(int, error) bool) {
		for i := 0; yield(i, nil); i++ {
		}
	}
	switch c.Rank() {
	case 0:
		if err := lostRankOne("the sender", runtime.SendStream(c, endless, 1, 0)); err != nil {
			return err
		}
	case 1:
		sending := runtime.NewRequest(c, func(c *runtime.Comm) error { return runtime.SendStream(c, endless, 2, 0) })
		for i, err := range runtime.Stream[int](c, 0, 0) {
			if i == 1000 || err != nil {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		_, err := sending.Wait()
		return err
	case 2:
		var last error
		for _, err := range runtime.Stream[int](c, 1, 0) {
			last = err
		}
		if err := lostRankOne("the receiver", last); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d survived\n", c.Rank())
	return nil
}

// The loss of a rank ends the streams to this rank and from this rank with a PeerError.
func TestStreamsOfALostRank(t *testing.T) {
	for _, way := range []string{"auto", "rdma"} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, 3, "stream", "-on-failure", "continue", "-transport", way)
			for _, rank := range []int{0, 2} {
				require.Contains(t, r.out, fmt.Sprintf("rank %d survived\n", rank), r.errors)
			}
		})
	}
}

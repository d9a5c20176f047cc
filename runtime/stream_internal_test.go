package runtime

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// numbersThen yields the numbers below n and then calls end.
func numbersThen(n int, end func()) func(yield func(int, error) bool) {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		end()
	}
}

// SendStream ends with an error when it gets a credit that no receiver sends.
func TestStreamCreditsAreChecked(t *testing.T) {
	const tag = 3
	for name, credit := range map[string]func(b []byte) []byte{
		"the last credit before the last frame": func(b []byte) []byte { b[0] = creditDone; return b },
		"an unknown kind":                       func(b []byte) []byte { b[0] = creditStopped + 1; return b },
		"the number of another stream":          func(b []byte) []byte { b[1]++; return b },
		"more values than were sent":            func(b []byte) []byte { b[6] = 1; return b },
		"a short one":                           func(b []byte) []byte { return b[:creditSize-1] },
	} {
		require.NoError(t, Local(2, func(w *World) error {
			c := w.Comm()
			if w.Rank() == 0 {
				require.ErrorContains(t, SendStream(c, numbersThen(1000, func() {}), 1, tag), "stream to rank 1 with tag 3: malformed credit", name)
				return nil
			}
			at := engine.Match{Context: c.streamContext(), Peer: 0, Tag: tag}
			var first [100]byte
			_, err := c.engine.Recv(context.Background(), at, valueElement.typ, first[:])
			require.NoError(t, err)
			b := binary.LittleEndian.AppendUint64(append([]byte{creditMore}, first[1:frameHead]...), 0)
			b = binary.LittleEndian.AppendUint64(b, 0)
			at.Tag = streamCredits + int(binary.LittleEndian.Uint32(first[1:]))
			return c.engine.Send(context.Background(), at, valueElement.typ, credit(b), engine.Standard)
		}), name)
	}
}

// After a stream was left early, by its receiver or by its sender, the next stream of the communicator discards
// the remaining messages of the stream that was left.
func TestStreamLeavesNothing(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		together := func() { require.NoError(t, meet(w)) }
		receive := func(tag int) {
			for range Stream[int](c, 0, tag) {
			}
		}
		send := func(tag int) { require.NoError(t, SendStream(c, numbersThen(0, together), 1, tag)) }
		empty := func() {
			require.Empty(t, c.core.leftovers.from)
			for _, u := range w.engine.Unreceived() {
				require.NotEqual(t, c.streamContext(), u.Context)
			}
		}
		for range 3 {
			if w.Rank() == 1 {
				for _, err := range Stream[int](c, 0, 3) { // leaves 99 values and the last frame
					require.NoError(t, err)
					together()
					break
				}
				together() // the messages have arrived
				together()
				receive(5)
				empty()
				together()
				receive(4)
				together()
				together()
				receive(5)
				continue
			}
			require.ErrorIs(t, SendStream(c, numbersThen(100, together), 1, 3), ErrStreamStopped)
			together()
			send(5)
			together()
			ctx, cancel := context.WithCancel(t.Context())
			require.ErrorIs(t, SendStream(c.WithContext(ctx), numbersThen(100, cancel), 1, 4), context.Canceled)
			together() // the last credit has arrived
			send(5)
			empty()
		}
		return nil
	}))
}

// A receiver that has no memory for the first value of a stream stops the stream. The test sets a limit of memory
// in a process of its own.
func TestStreamWithoutMemoryForItsFirstValue(t *testing.T) {
	const env, tag = "GORUN_TEST_STREAM_LIMITED", 3
	if os.Getenv(env) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestStreamWithoutMemoryForItsFirstValue$")
		command.Env = append(os.Environ(), env+"=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	big := make([]byte, 150<<20)
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		if w.Rank() == 0 {
			err := SendStream(c, func(yield func([]byte, error) bool) { yield(big, nil) }, 1, tag)
			require.ErrorIs(t, err, ErrStreamStopped)
			return nil
		}
		_, err := c.engine.Probe(context.Background(), engine.Match{Context: c.streamContext(), Peer: 0, Tag: tag})
		require.NoError(t, err)
		limit := unix.Rlimit{Cur: dataBytes(t) + 64<<20, Max: unix.RLIM_INFINITY}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_DATA, &limit))
		var last error
		for _, last = range Stream[[]byte](c, 0, tag) {
			require.Error(t, last)
		}
		var short *MemoryError
		require.ErrorAs(t, last, &short)
		require.Equal(t, [2]int{0, tag}, [2]int{short.Source, short.Tag})
		limit.Cur = unix.RLIM_INFINITY
		return unix.Setrlimit(unix.RLIMIT_DATA, &limit)
	}))
}

// The receiver of a stream does not wait until the sender has room for the last credit. A sender that has left the
// stream may never receive the credit.
func TestStreamEndsWithoutRoomForACredit(t *testing.T) {
	const budget = 16 << 10
	j, err := newLocalJob(2, engine.WaitPolicy{}, localjob.Config{Budget: budget})
	require.NoError(t, err)
	left := make(chan struct{})
	j.start(func(w *World) error {
		c := w.Comm()
		if w.Rank() == 0 {
			view, stop := context.WithCancel(t.Context())
			require.ErrorIs(t, SendStream(c.WithContext(view), numbersThen(10, stop), 1, 3), context.Canceled)
			close(left)
			_, err := Recv(c, []byte{0}, 1, 99) // rank 1 sends this after the stream
			return err
		}
		for v := range Stream[int](c, 0, 3) {
			if v < 9 {
				continue
			}
			<-left                              // at the last value, so that rank 0 does not wait for this rank
			for range 2 * budget / creditSize { // no receive matches these messages
				Isend(c, make([]byte, creditSize), 0, 7)
			}
		}
		Isend(c, []byte{1}, 0, 99)
		return nil
	})
	require.NoError(t, j.Wait(t.Context()))
}

package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// Local runs the function once for each rank. All ranks are on one node.
func TestLocalRunsEveryRank(t *testing.T) {
	var sum atomic.Int64
	require.NoError(t, runtime.Local(5, func(w *runtime.World) error {
		sum.Add(1 << (8 * w.Rank()))
		require.Equal(t, 5, w.Size())
		require.Equal(t, w.Rank(), w.LocalRank())
		require.Equal(t, 5, w.LocalSize())
		require.Equal(t, 0, w.NodeRank())
		require.Equal(t, 1, w.Nodes())
		require.Positive(t, w.Processors())
		require.Same(t, w, w.Comm().World())
		require.Equal(t, w.LocalSize() > w.Processors(), w.Comm().Oversubscribed())
		return nil
	}))
	require.EqualValues(t, 0x0101010101, sum.Load())
	require.ErrorIs(t, runtime.Local(0, nil), runtime.ErrArgument)
}

// Local returns the error of the rank that failed first, and ends the operations of the other ranks
// with ErrAborted and that error.
func TestLocalReturnsTheFirstFailure(t *testing.T) {
	broken := errors.New("broken")
	var others atomic.Int64
	err := runtime.Local(4, func(w *runtime.World) error {
		if w.Rank() == 2 {
			return broken
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 2, 0) // rank 2 never sends
		if errors.Is(err, runtime.ErrAborted) && errors.Is(err, broken) {
			others.Add(1)
		}
		return err
	})
	require.IsType(t, &runtime.RankError{}, err)
	var rank *runtime.RankError
	require.ErrorAs(t, err, &rank)
	require.Equal(t, 2, rank.Rank)
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, runtime.ErrAborted, "the cause, not a consequence")
	require.EqualValues(t, 3, others.Load())
}

// A panic of a rank ends the job with an error that contains its value and stack.
func TestLocalReturnsAPanicWithItsStack(t *testing.T) {
	broken := errors.New("broken")
	err := runtime.Local(3, func(w *runtime.World) error {
		if w.Rank() == 1 {
			panicHere(broken)
		}
		_, err := runtime.Probe(w.Comm(), runtime.AnySource, runtime.AnyTag)
		return err
	})
	var panicked *runtime.PanicError
	require.ErrorAs(t, err, &panicked)
	require.ErrorIs(t, err, broken)
	require.Contains(t, string(panicked.Stack), "panicHere")
	require.ErrorContains(t, err, "rank 1: panic: broken")
}

func panicHere(err error) { panic(err) }

// A rank whose goroutine ends by Goexit fails.
func TestLocalNoticesAnEndedGoroutine(t *testing.T) {
	err := runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 0 {
			goexit()
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 0, 0)
		return err
	})
	require.ErrorContains(t, err, "rank 0: the rank's goroutine was ended")
}

// Abort ends the job with an AbortError that contains the rank and the exit code.
func TestLocalAbort(t *testing.T) {
	err := runtime.Local(3, func(w *runtime.World) error {
		if w.Rank() == 0 {
			w.Abort(7)
			return nil
		}
		err := runtime.Ssend(w.Comm(), []int{1}, 0, 0)
		require.ErrorIs(t, err, runtime.ErrAborted)
		return err
	})
	var abort *runtime.AbortError
	require.ErrorAs(t, err, &abort)
	require.Equal(t, runtime.AbortError{Rank: 0, Code: 7}, *abort)
}

// A message arrives even if the function of its sender has returned without waiting for the request.
func TestLocalServesPeersUntilAllHaveReturned(t *testing.T) {
	const n = 1 << 20
	var received atomic.Bool
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 0 {
			runtime.Isend(w.Comm(), pattern(make([]byte, n), 3), 1, 0) // the request is dropped
			return nil
		}
		// The envelope of the message has arrived. So rank 0 has called Isend and is about to return.
		_, err := runtime.Probe(w.Comm(), 0, 0)
		require.NoError(t, err)
		got := make([]byte, n)
		_, err = runtime.Recv(w.Comm(), got, 0, 0)
		require.NoError(t, err)
		require.Equal(t, pattern(make([]byte, n), 3), got)
		received.Store(true)
		return nil
	}))
	require.True(t, received.Load())
}

// After World.Close, Send and Dup end with ErrClosed (MPICH's init/finalized.c), and a second Close returns no error.
func TestWorldAfterClose(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		require.NoError(t, c.World().Close())
		require.NoError(t, c.World().Close(), "twice is no error")
		require.ErrorIs(t, runtime.Send(c, []int{1}, 0, 0), runtime.ErrClosed)
		_, err := c.Dup()
		require.ErrorIs(t, err, runtime.ErrClosed)
	})
}

// 64 ranks in one process exchange messages.
func TestManyRanksInOneProcess(t *testing.T) {
	const n = 64
	local(t, n, func(c *runtime.Comm) {
		right, left := (c.Rank()+1)%n, (c.Rank()+n-1)%n
		got := make([]int, 1)
		for i := range 10 {
			_, err := runtime.SendRecv(c, []int{c.Rank() + i}, right, i, got, left, i)
			require.NoError(t, err)
			require.Equal(t, left+i, got[0])
		}
	})
}

// The end of the context.Context of a view ends its blocked receives, probes, sends and waits. No message is lost.
func TestWithContextEndsABlockedCall(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 1 {
			// Rank 1 continues when rank 0 has given up.
			_, err := runtime.Recv[int](c, nil, 0, 9)
			require.NoError(t, err)
			require.NoError(t, runtime.Send(c, []int{42}, 0, 1))
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		view := c.WithContext(ctx)
		require.Equal(t, ctx, view.Context())
		require.Equal(t, ctx, view.Private().Context())
		got := make([]int, 1)
		for name, call := range map[string]func() error{
			"Recv":     func() error { return second(runtime.Recv(view, got, 1, 1)) },
			"Probe":    func() error { return second(runtime.Probe(view, 1, 1)) },
			"Mprobe":   func() error { return second(runtime.Mprobe(view, 1, 1)) },
			"Ssend":    func() error { return runtime.Ssend(view, got, 1, 5) },
			"big Send": func() error { return runtime.Send(view, make([]byte, 1<<22), 1, 5) },
			"SendRecv": func() error { return second(runtime.SendRecv(view, []int{1}, runtime.ProcNull, 6, got, 1, 1)) },
			"Wait":     func() error { return second(runtime.Irecv(view, got, 1, 1).Wait()) },
			"WaitAny": func() error {
				r := runtime.Irecv(view, got, 1, 1)
				_, _, err := runtime.WaitAny([]runtime.Request{r})
				r.Cancel()
				require.ErrorIs(t, second(r.Wait()), runtime.ErrCanceled)
				return err
			},
		} {
			require.ErrorIs(t, call(), context.DeadlineExceeded, name)
		}
		// No call above has received the message that rank 1 sends now.
		require.NoError(t, runtime.Send[int](c, nil, 1, 9))
		_, err := runtime.Recv(c, got, 1, 1)
		require.NoError(t, err)
		require.Equal(t, 42, got[0])
	})
}

// TestLocalContextSaysWhoHangs: the end of the context.Context of LocalContext ends a job that hangs. The error says
// what the ranks were doing.
func TestLocalContextSaysWhoHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var own error
	err := runtime.LocalContext(ctx, 2, func(w *runtime.World) error {
		if w.Rank() == 0 {
			_, own = runtime.Recv(w.Comm(), make([]int, 1), 1, 7)
		}
		return own
	})
	var hang *runtime.HangError
	require.IsType(t, hang, err)
	require.ErrorAs(t, err, &hang)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, own, runtime.ErrAborted)
	require.ErrorIs(t, own, context.DeadlineExceeded)
	require.Regexp(t, `(?m)^rank 0 of 2, process \d+: waits in 1 operation\n  receive, rank 1, tag 7, world, 8 bytes, .*, at local_test\.go:\d+ `, hang.Report)
	require.Contains(t, hang.Report, "rank 1 has left its program, and rank 0 waits for it\n")
	require.Contains(t, err.Error(), "what the ranks were doing:\nrank 0 of 2")

	require.NoError(t, runtime.LocalContext(t.Context(), 2, func(*runtime.World) error { return nil }))
}

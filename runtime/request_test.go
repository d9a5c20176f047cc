package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// Wait, Test and their variants without any request return at once (MPICH's pt2pt/waittestnull.c
// and pt2pt/waitany_null.c).
func TestWaitForNothing(t *testing.T) {
	local(t, 1, func(*runtime.Comm) {
		var none, other runtime.Request
		s, err := none.Wait()
		require.NoError(t, err)
		require.Equal(t, runtime.AnySource, s.Source)
		require.Equal(t, runtime.AnyTag, s.Tag)
		require.Zero(t, s.Count())
		_, ok, err := none.Test()
		require.NoError(t, err)
		require.True(t, ok)
		require.True(t, none.Done())
		none.Cancel()
		require.NoError(t, runtime.WaitAll(nil))
		require.NoError(t, runtime.WaitAll([]runtime.Request{none, other}))
		i, s, err := runtime.WaitAny([]runtime.Request{none, other})
		require.NoError(t, err)
		require.Equal(t, runtime.Undefined, i)
		require.Zero(t, s.Count())
		some, err := runtime.WaitSome([]runtime.Request{none})
		require.NoError(t, err)
		require.Nil(t, some)
		ok, err = runtime.TestAll([]runtime.Request{none})
		require.NoError(t, err)
		require.True(t, ok)
		i, _, ok, err = runtime.TestAny(nil)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, runtime.Undefined, i)
	})
}

// Done does not take the result of a request: a later WaitAny returns it (MPICH's
// pt2pt/rqstatus.c).
func TestDoneLeavesTheRequest(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		got := make([]int, 1)
		r := runtime.Irecv(c, got, 0, 3)
		require.False(t, r.Done())
		require.NoError(t, runtime.Send(c, []int{8}, 0, 3))
		require.True(t, r.Done())
		require.True(t, r.Done())
		requests := []runtime.Request{r}
		i, s, err := runtime.WaitAny(requests)
		require.NoError(t, err)
		require.Zero(t, i)
		require.Equal(t, 3, s.Tag)
		require.Equal(t, 8, got[0])
		require.Equal(t, []runtime.Request{{}}, requests)
	})
}

// A message whose send request was dropped still arrives (MPICH's pt2pt/rqfree.c).
func TestDroppedSendArrives(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for _, n := range sizes {
			if c.Rank() == 0 {
				runtime.Isend(c, pattern(make([]byte, n), n), 1, 1)
				runtime.Issend(c, pattern(make([]byte, n), n+1), 1, 2)
				_, err := runtime.Recv[byte](c, nil, 1, 3)
				require.NoError(t, err)
				continue
			}
			for tag := 2; tag >= 1; tag-- {
				got := make([]byte, n)
				_, err := runtime.Recv(c, got, 0, tag)
				require.NoError(t, err)
				require.Equal(t, pattern(make([]byte, n), n+tag-1), got)
			}
			require.NoError(t, runtime.Send[byte](c, nil, 0, 3))
		}
	})
}

// A canceled receive from any source does not consume the next message (MPICH's
// pt2pt/cancelanysrc.c).
func TestCanceledReceiveTakesNothing(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			_, err := runtime.Recv[int](c, nil, 1, 1)
			require.NoError(t, err)
			require.NoError(t, runtime.Send(c, []int{42}, 1, 0))
			return
		}
		early := []int{-1}
		r := runtime.Irecv(c, early, runtime.AnySource, runtime.AnyTag)
		r.Cancel()
		require.ErrorIs(t, second(r.Wait()), runtime.ErrCanceled)
		require.NoError(t, runtime.Send[int](c, nil, 0, 1))
		got := make([]int, 1)
		_, err := runtime.Recv(c, got, runtime.AnySource, runtime.AnyTag)
		require.NoError(t, err)
		require.Equal(t, 42, got[0])
		require.Equal(t, -1, early[0])
	})
}

// Of several receives, exactly those that were canceled end with ErrCanceled (MPICH's
// pt2pt/rcancel.c).
func TestSeveralCancels(t *testing.T) {
	const n = 10
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			_, err := runtime.Recv[int](c, nil, 1, n)
			require.NoError(t, err)
			for i := range n {
				require.NoError(t, runtime.Send(c, []int{i}, 1, i))
			}
			return
		}
		got := make([]int, n)
		requests := make([]runtime.Request, n)
		for i := range n {
			requests[i] = runtime.Irecv(c, got[i:i+1], 0, i)
		}
		for i := 0; i < n; i += 3 {
			requests[i].Cancel()
		}
		require.NoError(t, runtime.Send[int](c, nil, 0, n))
		for i, r := range requests {
			if _, err := r.Wait(); i%3 == 0 {
				require.ErrorIs(t, err, runtime.ErrCanceled)
			} else {
				require.NoError(t, err)
				require.Equal(t, i, got[i])
			}
		}
		for i := 0; i < n; i += 3 {
			_, err := runtime.Recv(c, got[i:i+1], 0, i)
			require.NoError(t, err)
			require.Equal(t, i, got[i])
		}
	})
}

// A send whose message was received cannot be canceled any more (MPICH's pt2pt/scancel2.c).
func TestCancelOfAReceivedSendIsTooLate(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for _, n := range sizes {
			if c.Rank() == 1 {
				got := make([]byte, n)
				_, err := runtime.Recv(c, got, 0, 0)
				require.NoError(t, err)
				require.NoError(t, runtime.Send[byte](c, nil, 0, 1))
				continue
			}
			r := runtime.Issend(c, make([]byte, n), 1, 0)
			_, err := runtime.Recv[byte](c, nil, 1, 1)
			require.NoError(t, err)
			r.Cancel()
			require.NoError(t, second(r.Wait()))
		}
	})
}

// A synchronous send to oneself can be canceled although a probe has found its message, and a
// receive can be canceled (MPICH's pt2pt/issendselfcancel.c).
func TestCancelToOneself(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		for _, n := range sizes {
			send := runtime.Issend(c, make([]byte, n), 0, 2)
			_, err := runtime.Probe(c, 0, 2)
			require.NoError(t, err)
			send.Cancel()
			require.ErrorIs(t, second(send.Wait()), runtime.ErrCanceled)
			_, found, err := runtime.Iprobe(c, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			require.False(t, found, "nothing of it is left")
			recv := runtime.Irecv(c, make([]byte, n), 0, 2)
			recv.Cancel()
			require.ErrorIs(t, second(recv.Wait()), runtime.ErrCanceled)
		}
	})
}

// A generalized request runs a function, and returns its error once. Cancel ends the function's
// context.Context (MPICH's pt2pt/greq1.c).
func TestGeneralizedRequest(t *testing.T) {
	broken := errors.New("broken")
	local(t, 2, func(c *runtime.Comm) {
		got := make([]int, 1)
		r := runtime.NewRequest(c, func(c *runtime.Comm) error {
			_, err := runtime.SendRecv(c.Private(), []int{c.Rank()}, 1-c.Rank(), 0, got, 1-c.Rank(), 0)
			return err
		})
		require.NoError(t, second(r.Wait()))
		require.Equal(t, 1-c.Rank(), got[0])

		fails := runtime.NewRequest(c, func(*runtime.Comm) error { return broken })
		require.ErrorIs(t, runtime.WaitAll([]runtime.Request{{}, fails}), broken)
		require.NoError(t, second(fails.Wait()), "it was taken")
		for ok := false; !ok; {
			var err error
			_, ok, err = runtime.NewRequest(c, func(*runtime.Comm) error { return nil }).Test()
			require.NoError(t, err)
		}

		canceled := runtime.NewRequest(c, func(c *runtime.Comm) error {
			return second(runtime.Recv(c, got, 1-c.Rank(), 99))
		})
		canceled.Cancel()
		_, err := canceled.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, runtime.ErrCanceled)
	})
}

// If the function of a generalized request does not return but ends its goroutine, the request has an error.
func TestGeneralizedRequestEndsItsGoroutine(t *testing.T) {
	var wait error
	err := runtime.Local(1, func(w *runtime.World) error {
		_, wait = runtime.NewRequest(w.Comm(), func(*runtime.Comm) error { goruntime.Goexit(); return nil }).Wait()
		return nil
	})
	require.ErrorContains(t, err, "Goexit")
	require.ErrorContains(t, wait, "Goexit")
}

// After an abort, Test of a generalized request whose function has not returned does not wait for the function. Wait
// and WaitAny wait for it.
func TestGeneralizedRequestAfterAnAbort(t *testing.T) {
	aborted, gate := errors.New("aborted"), make(chan struct{})
	err := runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 1 {
			return aborted
		}
		blocked := func(*runtime.Comm) error { <-gate; return nil }
		r, requests := runtime.NewRequest(w.Comm(), blocked), []runtime.Request{runtime.NewRequest(w.Comm(), blocked)}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0)
		tested := make(chan bool)
		go func() {
			_, ok, _ := r.Test()
			tested <- ok || r.Done()
		}()
		select {
		case ok := <-tested:
			require.False(t, ok)
		case <-time.After(20 * time.Second):
			require.Fail(t, "Test waits")
		}
		time.AfterFunc(20*time.Millisecond, func() { close(gate) }) // probably after WaitAny has begun
		_, _, taken := runtime.WaitAny(requests)
		require.NoError(t, taken, "the function returns nil")
		_, taken = r.Wait()
		require.NoError(t, taken, "the function returns nil")
		return err
	})
	require.ErrorIs(t, err, aborted)
}

// WaitAny waits for messages and generalized requests together, and returns the request that
// completes.
func TestWaitAnyOverMessagesAndTasks(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		got := make([]int, 1)
		recv := runtime.Irecv(c, got, 0, 1)
		gate := make(chan struct{})
		task := runtime.NewRequest(c, func(*runtime.Comm) error { <-gate; return nil })
		require.NoError(t, runtime.Send(c, []int{5}, 0, 1))
		i, _, err := runtime.WaitAny([]runtime.Request{{}, task, recv})
		require.NoError(t, err)
		require.Equal(t, 2, i)
		require.Equal(t, 5, got[0])
		idle := runtime.Irecv(c, got, 0, 1)
		close(gate)
		i, _, err = runtime.WaitAny([]runtime.Request{idle, task, recv})
		require.NoError(t, err)
		require.Equal(t, 1, i)
		idle.Cancel()
		require.ErrorIs(t, second(idle.Wait()), runtime.ErrCanceled)
	})
}

// WaitSome and TestAny return each completed request once, and clear it in the list.
func TestWaitSomeAndTestAny(t *testing.T) {
	const n = 50
	local(t, 2, func(c *runtime.Comm) {
		if c.Rank() == 0 {
			for i := range n {
				require.NoError(t, runtime.Send(c, []int{i}, 1, n-i))
			}
			return
		}
		got := make([]int, n)
		requests := make([]runtime.Request, n)
		for i := range n {
			requests[i] = runtime.Irecv(c, got[i:i+1], 0, n-i)
		}
		_, _, ok, err := runtime.TestAny(requests)
		require.NoError(t, err)
		left := n
		if ok {
			left--
		}
		for left > 0 {
			some, err := runtime.WaitSome(requests)
			require.NoError(t, err)
			require.NotEmpty(t, some)
			left -= len(some)
			for _, ended := range some {
				require.NoError(t, ended.Err)
				require.Equal(t, n-ended.Index, ended.Status.Tag)
				require.Equal(t, ended.Index, got[ended.Index])
				require.Zero(t, requests[ended.Index])
			}
		}
		some, err := runtime.WaitSome(requests)
		require.NoError(t, err)
		require.Nil(t, some)
		ok, err = runtime.TestAll(requests)
		require.NoError(t, err)
		require.True(t, ok)
	})
}

// TestAll returns true only when all requests are complete.
func TestTestAllWaitsForAll(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		a, b := runtime.Irecv(c, make([]int, 1), 0, 1), runtime.Irecv(c, make([]int, 1), 0, 2)
		require.NoError(t, runtime.Send(c, []int{1}, 0, 2))
		ok, err := runtime.TestAll([]runtime.Request{a, b})
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, runtime.Send(c, []int{1}, 0, 1))
		ok, err = runtime.TestAll([]runtime.Request{a, b})
		require.NoError(t, err)
		require.True(t, ok)
	})
}

// The error of WaitAll contains the errors of all requests.
func TestWaitAllJoinsErrors(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		a, b := runtime.Irecv(c, make([]int, 1), 0, 1), runtime.Irecv(c, make([]int, 1), 0, 2)
		a.Cancel()
		require.NoError(t, runtime.Send(c, []float64{1}, 0, 2))
		err := runtime.WaitAll([]runtime.Request{a, b, runtime.Isend(c, []int{1}, 5, 0)})
		require.ErrorIs(t, err, runtime.ErrCanceled)
		require.ErrorIs(t, err, runtime.ErrRank)
		var mismatch *runtime.TypeMismatchError
		require.ErrorAs(t, err, &mismatch)
	})
}

// A request ends when the context.Context of its view ends, even if WaitAll waits for it together
// with requests of other views.
func TestWaitAllHearsOfEveryContext(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		for at := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			requests := make([]runtime.Request, 3)
			for i := range requests {
				if i == at {
					requests[i] = runtime.Irecv(c.WithContext(ctx), make([]int, 1), 0, 2) // no message matches
				} else {
					requests[i] = runtime.Irecv(c, make([]int, 1), 0, 1)
					require.NoError(t, runtime.Send(c, []int{1}, 0, 1))
				}
			}
			cancel()
			require.ErrorIs(t, runtime.WaitAll(requests), context.Canceled)
		}
	})
}

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["recall"] = func() { runtime.Main(recall) }
}

// recall makes rank 0 cancel small sends. The first send may wait for a connection. The messages of
// the later sends are copied at once, and therefore these sends cannot be canceled. Rank 1 receives exactly
// the messages for which Wait reports no cancellation.
func recall(w *runtime.World) error {
	const rounds, messages, rhythm, total = 20, 5, 6, 7
	c := w.Comm()
	if c.Rank() == 1 {
		for range rounds {
			if _, err := runtime.Recv(c, make([]int, 1), 0, rhythm); err != nil {
				return err
			}
		}
		sent := make([]int, rounds)
		s, err := runtime.Recv(c, sent, 0, total)
		if err != nil {
			return err
		}
		for _, want := range sent[:s.Bytes/8] {
			got := []int{-1}
			if _, err := runtime.Recv(c, got, 0, messages); err != nil || got[0] != want {
				return fmt.Errorf("message %d arrived, %d was sent: %w", got[0], want, err)
			}
		}
		if _, more, err := runtime.Iprobe(c, 0, messages); more || err != nil {
			return fmt.Errorf("a message that was canceled has arrived: %w", err)
		}
		return nil
	}
	var sent []int
	for i := range rounds {
		r := runtime.Isend(c, []int{i}, 1, messages)
		r.Cancel()
		switch _, err := r.Wait(); {
		case err == nil:
			sent = append(sent, i)
		case !errors.Is(err, runtime.ErrCanceled) || i > 0:
			return fmt.Errorf("send %d, whose message was copied into the lane: %w", i, err)
		}
		if err := runtime.Ssend(c, []int{i}, 1, rhythm); err != nil {
			return err
		}
	}
	return runtime.Send(c, sent, 1, total)
}

// A small send cannot be canceled after its message was copied into the lane. Only the first send,
// which may wait for a connection, may be canceled. The receiver gets a message if and only if Wait
// does not report the send as canceled.
func TestCancelOfASmallSend(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		r := launch(t, 2, "recall", "-transport", transport)
		require.Zero(t, r.code, "%s: %s", transport, r.errors)
	}
}

// A view keeps every context.Context, also one that never ends, for the sake of its values.
func TestViewKeepsAContextThatNeverEnds(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		type key struct{}
		view := c.WithContext(context.WithValue(context.Background(), key{}, "kept"))
		require.Equal(t, "kept", view.Context().Value(key{}))
		require.Equal(t, "kept", view.Private().Context().Value(key{}))
		got := ""
		r := runtime.NewRequest(view, func(c *runtime.Comm) error {
			got = c.Context().Value(key{}).(string)
			return nil
		})
		requests := []runtime.Request{runtime.Isend(view, []int{7}, 0, 0), runtime.Irecv(view, make([]int, 1), 0, 0), r}
		require.NoError(t, runtime.WaitAll(requests))
		require.Equal(t, "kept", got)
	})
}

// If a receive ends without a message, and world rank 0 is no member of the communicator, the Status names no rank of the
// communicator as the source.
func TestSourceOfAReceiveWithoutAMessage(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		sub, err := c.Split(min(c.Rank(), 1), -c.Rank())
		require.NoError(t, err)
		if c.Rank() > 0 {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			s, err := runtime.Recv(sub.WithContext(ctx), make([]int, 1), runtime.AnySource, 0)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, runtime.Undefined, s.Source)
		}
		require.NoError(t, sub.Close())
	})
}

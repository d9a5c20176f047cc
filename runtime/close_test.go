package runtime_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// overTransports runs a test over shared memory and over the network.
func overTransports(t *testing.T, n int, fn func(c *runtime.Comm)) {
	t.Helper()
	for _, transport := range []string{"shm", "rdma"} {
		t.Run(transport, func(t *testing.T) {
			t.Setenv("GORUN_TRANSPORT", transport)
			local(t, n, fn)
		})
	}
}

// Close ends the waiting receives of this rank with ErrCommClosed and discards messages that were
// not received. If the send of a discarded message waits for a match, the send ends, too.
func TestCloseEndsWhatWaits(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		peer := 1 - c.Rank()
		if c.Rank() == 0 {
			sends := []runtime.Request{
				runtime.Issend(dup, []int{1}, peer, 1),
				runtime.Isend(dup, make([]byte, 1<<20), peer, 2),
				runtime.Isend(dup, []int{2}, peer, 3),
			}
			require.NoError(t, runtime.Send(c, []int{3}, peer, 0))
			for i, want := range []error{runtime.ErrCommClosed, runtime.ErrCommClosed, nil} {
				_, err := sends[i].Wait()
				require.ErrorIs(t, err, want)
			}
			require.NoError(t, dup.Err())
			require.NoError(t, dup.Close())
			return
		}
		posted := runtime.Irecv(dup, make([]int, 1), peer, 9)
		private := runtime.Irecv(dup.Private(), make([]int, 1), runtime.AnySource, runtime.AnyTag)
		_, err = runtime.Recv(c, make([]int, 1), peer, 0)
		require.NoError(t, err)
		require.Len(t, dup.Unreceived(), 3)
		require.NoError(t, dup.Close())
		for _, r := range []runtime.Request{posted, private} {
			_, err := r.Wait()
			require.ErrorIs(t, err, runtime.ErrCommClosed)
		}
		require.Empty(t, dup.Unreceived())
	})
}

// Close ends an Agree or a Shrink that waits in another goroutine. The other members get their
// decision, and new communicators can be created afterwards.
func TestCloseBesideAnAgreement(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		for _, wait := range []func(d *runtime.Comm) error{
			func(d *runtime.Comm) error { _, err := d.Agree(1); return err },
			func(d *runtime.Comm) error { s, err := d.Shrink(); return errors.Join(err, closeOf(s)) },
		} {
			d, err := c.Dup()
			require.NoError(t, err)
			if c.Rank() == 0 {
				ended := make(chan error, 1)
				go func() { ended <- wait(d) }()
				require.Eventually(t, agrees, hangLimit, time.Millisecond, "it waits")
				require.NoError(t, d.Close())
				require.ErrorIs(t, <-ended, runtime.ErrCommClosed)
				require.NoError(t, runtime.Send(c, []int{1}, 1, 0))
			} else {
				_, err := runtime.Recv(c, make([]int, 1), 0, 0)
				require.NoError(t, err)
				require.NoError(t, wait(d), "rank 0 has voted")
				require.NoError(t, d.Close())
			}
		}
		d, err := c.Dup()
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

// agrees reports whether a goroutine waits in Agree or Shrink.
func agrees() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:goruntime.Stack(stacks, true)]), "(*Engine).Await(")
}

// closeOf closes a communicator unless it is nil.
func closeOf(c *runtime.Comm) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// A receive that begins while another goroutine closes the communicator ends with ErrCommClosed,
// whether the receive or the Close takes effect first.
func TestCloseBesideAReceive(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		for round := range 300 {
			dup, err := c.Dup()
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() {
				for range round % 5 {
					goruntime.Gosched()
				}
				_, err := runtime.Recv(dup, make([]int, 1), 1-c.Rank(), 0)
				ended <- err
			}()
			for range round % 7 {
				goruntime.Gosched()
			}
			require.NoError(t, dup.Close())
			require.ErrorIs(t, <-ended, runtime.ErrCommClosed)
		}
	})
}

// A send that begins after the receiver has closed the communicator does not wait, and ends with
// ErrCommClosed.
func TestSendAfterTheReceiverClosed(t *testing.T) {
	overTransports(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		if c.Rank() == 1 {
			require.NoError(t, dup.Close())
			require.NoError(t, runtime.Send(c, []int{1}, 0, 0))
			return
		}
		_, err = runtime.Recv(c, make([]int, 1), 1, 0)
		require.NoError(t, err)
		require.ErrorIs(t, runtime.Ssend(dup, []int{1}, 1, 0), runtime.ErrCommClosed)
		require.ErrorIs(t, runtime.Send(dup, make([]byte, 1<<20), 1, 0), runtime.ErrCommClosed)
		require.NoError(t, dup.Close())
	})
}

// A communicator that was broken because another one was closed is broken, not closed. Its members
// agree, make a communicator of the members that live, and close the broken communicator once.
func TestBrokenBecauseOfAClosedCommunicator(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		d, err := c.Dup()
		require.NoError(t, err)
		agreed := make(chan error, 1)
		agree := func() {
			flags, err := d.Agree(uint64(6 + c.Rank()))
			if err == nil && flags != 6 {
				err = fmt.Errorf("agreed on %d", flags)
			}
			agreed <- err
		}
		if c.Rank() == 0 {
			d.Revoke(fmt.Errorf("gave up: %w", runtime.ErrCommClosed))
			go agree()
			require.Eventually(t, func() bool { return agrees() || len(agreed) > 0 }, hangLimit, time.Millisecond)
			require.NoError(t, runtime.Send(c, []int{1}, 1, 0))
		} else {
			_, err := runtime.Recv(c, make([]int, 1), 0, 0)
			require.NoError(t, err)
			agree()
		}
		require.NoError(t, <-agreed)
		s, err := d.Shrink()
		require.NoError(t, err)
		ring(t, s, []int{0, 1})
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
		require.Equal(t, runtime.ErrCommClosed, d.Err())
		require.ErrorIs(t, d.Close(), runtime.ErrCommClosed)
	})
}

// If a new communicator has the number of a closed one, it receives no message of the closed one,
// whether the message arrived before the close or after it.
func TestNoMessageOfAClosedCommunicator(t *testing.T) {
	const ranks, rounds = 3, 200
	overTransports(t, ranks, func(c *runtime.Comm) {
		for round := range rounds {
			dup, err := c.Dup()
			require.NoError(t, err)
			for to := range ranks {
				for range 3 {
					b := make([]int, 1+round%3*5000)
					b[0] = round
					runtime.Isend(dup, b, to, round%7)
				}
			}
			got := make([]int, 1+10000)
			for range 1 + round%5 {
				_, err := runtime.Recv(dup, got, runtime.AnySource, runtime.AnyTag)
				require.NoError(t, err)
				require.Equal(t, round, got[0])
			}
			require.NoError(t, dup.Close())
		}
	})
}

// Ranks that have closed a communicator do not wait for a rank that has not closed it.
func TestCommunicatorThatOneRankKeeps(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		kept, err := c.Dup()
		require.NoError(t, err)
		if c.Rank() > 0 {
			require.NoError(t, kept.Close())
			pair, err := c.Group().Include(1, 2)
			require.NoError(t, err)
			for range 100 {
				sub, err := c.Create(pair, 0)
				require.NoError(t, err)
				ring(t, sub, []int{1, 2})
				require.NoError(t, sub.Close())
			}
		} else {
			require.NoError(t, runtime.Send(kept, []int{1}, 1, 0))
		}
		all, err := c.Dup()
		require.NoError(t, err)
		ring(t, all, []int{0, 1, 2})
	})
}

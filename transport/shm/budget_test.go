package shm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Poll delivers at most its budget of messages, shares the budget among the rings, and polls the
// inbox even if the rings are busy. With a budget of one message, the inbox is polled in one of
// eight Polls, so the test makes eight times as many Polls.
func TestBudgetIsShared(t *testing.T) {
	ts := local(t, 4, false)
	for from := 1; from <= 2; from++ {
		intoRing(t, ts[from], ts[0], from, 0)
	}
	for from := 1; from <= 2; from++ {
		for range 100 {
			require.NoError(t, endpointTo(t, ts[from], 0).Send(transport.Header{}, nil))
		}
	}
	require.NoError(t, endpointTo(t, ts[3], 0).Send(transport.Header{}, nil))
	for _, budget := range []int{6, 1, 2, 3} {
		l, heard := &log{}, map[int]int{}
		polls := 6
		if budget == 1 {
			polls *= 8
		}
		for range polls {
			n, err := ts[0].Poll(l, budget)
			require.NoError(t, err)
			require.Equal(t, n, len(l.arrivals))
			require.LessOrEqual(t, n, budget)
			for _, a := range l.arrivals {
				heard[a.peer]++
			}
			l.arrivals = l.arrivals[:0]
		}
		require.NotZero(t, heard[1], "budget %d", budget)
		require.NotZero(t, heard[2], "budget %d", budget)
		require.Equal(t, 1, heard[3], "budget %d", budget)
		require.NoError(t, endpointTo(t, ts[3], 0).Send(transport.Header{}, nil))
	}
}

// reentrant is a Handler that calls Poll.
type reentrant struct {
	log
	tr  *shm.Transport
	err error
}

func (r *reentrant) Arrive(int, transport.Header, []byte) { _, r.err = r.tr.Poll(r, 1) }

// Poll returns an error if a Handler calls it, and works afterwards.
func TestPollFromWithinAHandler(t *testing.T) {
	ts := local(t, 2, false)
	require.NoError(t, endpointTo(t, ts[1], 0).Send(transport.Header{}, nil))
	r := &reentrant{tr: ts[0]}
	poll(t, ts[0], r, 1)
	var op *transport.OpError
	require.ErrorAs(t, r.err, &op)
	require.Equal(t, "poll", op.Op)
	poll(t, ts[0], r, 1)
}

// A Poll whose budget is used up before it has checked all rings allocates nothing.
func TestShortBudgetsAllocateNothing(t *testing.T) {
	const senders = 3
	ts, c := local(t, senders+1, false), &counter{}
	var to [senders]transport.Endpoint
	for i := range to {
		intoRing(t, ts[i+1], ts[0], i+1, 0)
		to[i] = endpointTo(t, ts[i+1], 0)
	}
	for _, budget := range []int{1, 2} {
		round := func() {
			for _, e := range to {
				_ = e.Send(transport.Header{}, nil)
			}
			for want := c.arrived + senders; c.arrived < want; {
				_, _ = ts[0].Poll(c, budget)
			}
		}
		require.Zero(t, testing.AllocsPerRun(1000, round), "budget %d", budget)
	}
}

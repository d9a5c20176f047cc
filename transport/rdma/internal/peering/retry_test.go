package peering_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestRefusals checks that a machine retries after a temporary refusal. After any other refusal the machine is over,
// with the reason in the error: the peer is given up, or has ended (Shutdown).
func TestRefusals(t *testing.T) {
	for r := negotiation.Version; r <= negotiation.BadLength; r++ {
		m := machine(1)
		m.Step(0, peering.Event{Kind: peering.Want}, nil)
		out := m.Step(0, peering.Event{Kind: peering.Refused, Conn: first, Reject: negotiation.Reject{Reason: r, Retry: 3 * time.Second}}, nil)
		if r.Temporary() {
			require.Empty(t, out, "%v", r)
			at, ok := m.Deadline()
			require.True(t, ok)
			require.Equal(t, r == negotiation.Busy, at == 3*time.Second, "%v", r)
			require.Empty(t, m.Step(at-1, peering.Event{Kind: peering.Tick}, nil))
			require.Equal(t, second, m.Step(at, peering.Event{Kind: peering.Tick}, nil)[0].Conn)
			continue
		}
		kind := peering.Down
		if r == negotiation.Shutdown {
			kind = peering.Ended
		}
		require.Equal(t, []peering.ActionKind{kind}, kinds(out), "%v", r)
		require.ErrorIs(t, out[0].Err, negotiation.Refused(r))
		require.ErrorIs(t, m.Err(), negotiation.Refused(r))
		require.Empty(t, m.Step(0, peering.Event{Kind: peering.Want}, nil))
	}
}

// TestRetriesBackOffAndGiveUp checks that pauses double up to RetryMax, that half of each pause is random, and
// that the final error contains the last cause.
func TestRetriesBackOffAndGiveUp(t *testing.T) {
	m := machine(0)
	now := time.Duration(0)
	out := m.Step(now, peering.Event{Kind: peering.Want}, nil)
	refused := errors.New("connection refused")
	for try := 0; ; try++ {
		require.Equal(t, []peering.ActionKind{peering.Dial}, kinds(out))
		require.EqualValues(t, try+1, out[0].Greeting.Attempt)
		require.Empty(t, m.Step(now, peering.Event{Kind: peering.Lost, Conn: out[0].Conn, Err: refused}, nil))
		at, ok := m.Deadline()
		require.True(t, ok)
		if at == 30*time.Second {
			now = at
			break
		}
		full := min(5*time.Millisecond<<min(try, 20), time.Second)
		require.GreaterOrEqual(t, at-now, full/2)
		require.LessOrEqual(t, at-now, full)
		now = at
		out = m.Step(now, peering.Event{Kind: peering.Tick}, nil)
	}
	out = m.Step(now, peering.Event{Kind: peering.Tick}, nil)
	require.Equal(t, []peering.ActionKind{peering.Down}, kinds(out))
	require.ErrorIs(t, out[0].Err, refused)
	require.ErrorContains(t, out[0].Err, "30s")
	require.Equal(t, negotiation.StaleEpoch, request(m, in1, 7, 1)[0].Reject.Reason, "a peer given up is told so")
	require.Equal(t, []peering.ActionKind{peering.Finished}, kinds(m.Step(now, peering.Event{Kind: peering.Shutdown}, nil)))
	require.Empty(t, m.Step(now, peering.Event{Kind: peering.Shutdown}, nil))
}

// TestJitterDiffers checks that machines with different random numbers rarely retry after the same pause.
func TestJitterDiffers(t *testing.T) {
	pauses := map[time.Duration]bool{}
	for seed := range uint64(50) {
		m := peering.New(peering.Config{Rank: 0, Peer: 1, Random: rand.NewPCG(seed, 0)})
		out := m.Step(0, peering.Event{Kind: peering.Want}, nil)
		m.Step(0, peering.Event{Kind: peering.Lost, Conn: out[0].Conn, Err: errBroken}, nil)
		at, _ := m.Deadline()
		pauses[at] = true
	}
	require.Greater(t, len(pauses), 40)
}

// TestPausesAreShortAgain checks that the first pause after the loss of a connection is again the shortest
// pause.
func TestPausesAreShortAgain(t *testing.T) {
	c := newCaller(t, false)
	for range 8 {
		c.fail(time.Millisecond, peering.Answered)
	}
	conn := c.conn
	c.step(peering.Event{Kind: peering.Established, Conn: conn})
	c.step(peering.Event{Kind: peering.Lost, Conn: conn, Err: errBroken})
	at, ok := c.m.Deadline()
	require.True(t, ok)
	require.LessOrEqual(t, at-c.now, 5*time.Millisecond)
}

package peering_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestAbsentPeerIsGivenUpSoon checks that a peer at whose address nobody listens is given up after some
// attempts, long before GiveUp.
func TestAbsentPeerIsGivenUpSoon(t *testing.T) {
	for _, supervised := range []bool{false, true} {
		c := newCaller(t, supervised)
		attempts := 0
		for ; len(c.said) == 0; attempts++ {
			require.Less(t, c.now, 5*time.Second, "%v", c.m)
			c.fail(time.Millisecond, peering.Absent)
		}
		require.Equal(t, []peering.ActionKind{peering.Down}, kinds(c.said))
		require.ErrorIs(t, c.said[0].Err, peering.ErrAbsent)
		require.ErrorIs(t, c.said[0].Err, errBroken)
		require.ErrorIs(t, c.m.Err(), peering.ErrAbsent)
		require.GreaterOrEqual(t, c.now, 2*time.Second, "it may be on its way")
		require.Greater(t, attempts, 4)
		require.Zero(t, c.conn)
		require.Empty(t, c.m.Step(c.now, peering.Event{Kind: peering.Want}, nil))
	}
}

// TestAbsenceIsSettable checks that Config.Absence sets the time after which an absent peer is given up. Four
// refusals are needed in every case: a refusal that takes long counts as one refusal, like a fast refusal.
func TestAbsenceIsSettable(t *testing.T) {
	m := peering.New(peering.Config{Rank: 1, Peer: 0, Absence: time.Minute, GiveUp: time.Hour, Random: rand.NewPCG(1, 1)})
	c := &caller{T: t, m: m}
	c.step(peering.Event{Kind: peering.Want})
	for len(c.said) == 0 {
		c.fail(0, peering.Absent)
	}
	require.GreaterOrEqual(t, c.now, time.Minute)
	require.Less(t, c.now, time.Minute+2*time.Second)

	c = newCaller(t, false)
	for range 3 {
		c.fail(3*time.Second, peering.Absent)
		require.Empty(t, c.said)
	}
	c.fail(3*time.Second, peering.Absent)
	require.Len(t, c.said, 1)
}

// TestAbsenceIsInARow checks that any other result of an attempt, or a request of the peer, restarts the count
// of refusals.
func TestAbsenceIsInARow(t *testing.T) {
	for _, other := range []peering.Contact{peering.Answered, peering.Unreached, peering.Unanswered} {
		c := newCaller(t, false)
		for i := 1; len(c.said) == 0; i++ {
			contact := peering.Absent
			if i%4 == 0 {
				contact = other
			}
			c.fail(time.Second, contact)
		}
		require.GreaterOrEqual(t, c.now, 30*time.Second, "%v", other)
	}
	c := newCaller(t, false)
	for i := uint16(1); i < 10; i++ {
		c.fail(time.Second, peering.Absent)
		c.step(peering.Event{Kind: peering.Requested, Conn: peering.Conn{Number: uint32(i)}, Greeting: peering.Greeting{Attempt: i}})
		require.Equal(t, []peering.ActionKind{peering.Accept}, kinds(c.said), "the peer itself asks")
		c.said = nil
		c.step(peering.Event{Kind: peering.Lost, Conn: peering.Conn{Number: uint32(i)}, Err: errBroken})
		c.dial()
	}
}

// TestOwnStopIsNoAbsence stops this process after some refusals. The test checks that these refusals do not count
// any more, because the peer may have begun to listen and ended its refusals during the stop.
func TestOwnStopIsNoAbsence(t *testing.T) {
	for name, stop := range map[string]func(c *caller){
		"in an attempt": func(c *caller) { c.fail(time.Minute, peering.Absent) },
		"between two attempts": func(c *caller) {
			conn := c.conn
			c.conn = peering.Conn{}
			c.step(peering.Event{Kind: peering.Lost, Conn: conn, Contact: peering.Absent, Err: errBroken})
			c.now += time.Minute
			c.dial()
			c.fail(0, peering.Absent)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, false)
			for range 3 {
				c.fail(0, peering.Absent)
			}
			stop(c)
			require.Empty(t, c.said)
			began := c.now
			for len(c.said) == 0 {
				c.fail(0, peering.Absent)
			}
			require.ErrorIs(t, c.said[0].Err, peering.ErrAbsent)
			require.GreaterOrEqual(t, c.now, began+time.Second, "the peer had time to listen")
		})
	}
}

// TestAbsentPeerThatWasMet checks that a peer that was connected and is absent now is given up after a few
// attempts. Such a peer has died, because a peer that ends in order sends BYE. A restarted peer that has not
// accepted a connection yet is not given up so early.
func TestAbsentPeerThatWasMet(t *testing.T) {
	meet := func() *caller {
		c := newCaller(t, false)
		c.step(peering.Event{Kind: peering.Established, Conn: c.conn, Greeting: peering.Greeting{Incarnation: 3}})
		c.said = nil
		return c
	}
	c := meet()
	lost, _ := c.m.InUse()
	c.conn = peering.Conn{}
	c.step(peering.Event{Kind: peering.Lost, Conn: lost, Err: errBroken})
	c.dial()
	c.said = nil
	for i := range 4 {
		require.Empty(t, c.said, i)
		c.fail(0, peering.Absent)
	}
	require.Equal(t, []peering.ActionKind{peering.Down}, kinds(c.said))
	require.Less(t, c.now, time.Second)

	c = meet()
	c.step(peering.Event{Kind: peering.Requested, Conn: in1, Greeting: peering.Greeting{Incarnation: 4, Attempt: 1}})
	c.conn = peering.Conn{}
	c.step(peering.Event{Kind: peering.Lost, Conn: in1, Err: errBroken})
	c.said = nil
	c.dial()
	for range 4 {
		c.fail(0, peering.Absent)
	}
	require.Empty(t, c.said)
}

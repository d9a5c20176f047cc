package peering_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// caller is a machine that wants a connection, with a simulated clock.
type caller struct {
	*testing.T
	m   *peering.Machine
	now time.Duration
	// conn is the attempt in progress.
	conn peering.Conn
	// said are the machine's actions except Dial and Drop.
	said []peering.Action
}

func newCaller(t *testing.T, supervised bool) *caller {
	t.Helper()
	c := &caller{T: t, m: peering.New(peering.Config{Rank: 1, Peer: 0, Supervised: supervised, Random: rand.NewPCG(1, 1)})}
	c.step(peering.Event{Kind: peering.Want})
	return c
}

func (c *caller) step(e peering.Event) {
	for _, a := range c.m.Step(c.now, e, nil) {
		switch a.Kind {
		case peering.Dial:
			c.conn = a.Conn
		case peering.Drop:
			c.conn = peering.Conn{}
		default:
			c.said = append(c.said, a)
		}
	}
}

// fail ends the attempt in progress after some time, and lets the next attempt begin.
func (c *caller) fail(after time.Duration, contact peering.Contact) {
	c.Helper()
	require.NotZero(c, c.conn, "no attempt is under way: %v", c.m)
	c.now += after
	conn := c.conn
	c.conn = peering.Conn{}
	c.step(peering.Event{Kind: peering.Lost, Conn: conn, Contact: contact, Err: errBroken})
	c.dial()
}

// dial advances the time until the next attempt begins or the machine ends.
func (c *caller) dial() {
	c.Helper()
	for c.conn == (peering.Conn{}) {
		at, ok := c.m.Deadline()
		if !ok {
			return
		}
		c.now = max(c.now, at)
		c.step(peering.Event{Kind: peering.Tick})
	}
}

// TestStoppedPeerIsWaitedFor checks that a supervised peer is not given up as long as its host accepts requests,
// however long the peer does not answer. The machine reports the silence after GiveUp and each time that the
// silence has doubled. It also reports the answer.
func TestStoppedPeerIsWaitedFor(t *testing.T) {
	c := newCaller(t, true)
	for c.now < 20*time.Minute {
		c.fail(5*time.Second, peering.Unanswered)
	}
	require.Len(t, c.said, 6)
	due := 30 * time.Second
	for _, a := range c.said {
		require.Equal(t, peering.Silent, a.Kind)
		require.ErrorIs(t, a.Err, errBroken)
		require.GreaterOrEqual(t, a.For, due)
		require.Less(t, a.For, due+6*time.Second, "an attempt under way is not cut short")
		due = 2 * a.For
	}
	c.said = nil
	c.step(peering.Event{Kind: peering.Established, Conn: c.conn})
	require.Equal(t, []peering.ActionKind{peering.Answers, peering.Use}, kinds(c.said))
}

// TestSilenceIsSaidOnceItIsLong checks that a silence shorter than GiveUp is not reported.
func TestSilenceIsSaidOnceItIsLong(t *testing.T) {
	c := newCaller(t, true)
	c.fail(20*time.Second, peering.Unanswered)
	c.step(peering.Event{Kind: peering.Established, Conn: c.conn})
	require.Equal(t, []peering.ActionKind{peering.Use}, kinds(c.said))
}

// TestOthersAreGivenUp checks which peers are given up after GiveUp: a peer that is not supervised, a peer whose
// host does not accept requests, a peer that refuses, and a peer that this side cannot ask.
func TestOthersAreGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		supervised bool
		contacts   []peering.Contact
	}{
		"nobody watches":            {false, []peering.Contact{peering.Unanswered}},
		"no host":                   {true, []peering.Contact{peering.Unreached}},
		"refused":                   {true, []peering.Contact{peering.Answered}},
		"refused after a silence":   {true, []peering.Contact{peering.Unanswered, peering.Answered}},
		"unreached after an answer": {true, []peering.Contact{peering.Unanswered, peering.Answered, peering.Unreached}},
		"own failure":               {true, []peering.Contact{peering.Unasked}},
		"own failure after silence": {true, []peering.Contact{peering.Unanswered, peering.Unasked}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, test.supervised)
			for i := 0; len(c.said) == 0; i++ {
				c.fail(2*time.Second, test.contacts[min(i, len(test.contacts)-1)])
			}
			require.Equal(t, []peering.ActionKind{peering.Down}, kinds(c.said))
			require.ErrorIs(t, c.said[0].Err, errBroken)
			require.ErrorContains(t, c.said[0].Err, "no connection within 30s")
			require.GreaterOrEqual(t, c.now, 30*time.Second)
			require.Less(t, c.now, 33*time.Second)
		})
	}
}

// TestHostOfAStoppedPeerIsFull has the host of a stopped peer accept no more requests, because its queue of
// requests is full. The test checks that the peer is not given up.
func TestHostOfAStoppedPeerIsFull(t *testing.T) {
	c := newCaller(t, true)
	c.fail(5*time.Second, peering.Unanswered)
	for c.now < 10*time.Minute {
		c.fail(5*time.Second, peering.Unreached)
	}
	for _, a := range c.said {
		require.Equal(t, peering.Silent, a.Kind)
	}
}

// TestOwnFailureIsNoAnswer has attempts fail on this side after a long silence of the peer. The test checks that
// the machine does not report an answer, and that it gives the peer up within GiveUp. If a later attempt is not
// answered, the peer is still waited for.
func TestOwnFailureIsNoAnswer(t *testing.T) {
	for _, later := range []peering.Contact{peering.Unasked, peering.Unanswered} {
		c := newCaller(t, true)
		for c.now < 100*time.Second {
			c.fail(5*time.Second, peering.Unanswered)
		}
		c.said = nil
		went := c.now
		c.fail(time.Second, peering.Unasked)
		for len(c.said) == 0 {
			c.fail(time.Second, later)
		}
		want := peering.Down
		if later == peering.Unanswered {
			want = peering.Silent
		}
		require.Equal(t, []peering.ActionKind{want}, kinds(c.said))
		require.GreaterOrEqual(t, c.now, went+30*time.Second)
		require.Less(t, c.now, went+33*time.Second)
		if want == peering.Silent {
			require.Greater(t, c.said[0].For, went, "since the first attempt")
			continue
		}
		require.ErrorContains(t, c.said[0].Err, "no connection within 2m", "GiveUp is 30 s, and the attempts took longer")
	}
}

// TestPatienceBeginsAnewWithAnAnswer has a peer answer Busy after a long stop. The test checks that GiveUp
// counts from the first answer. A peer that is always busy is given up in the end.
func TestPatienceBeginsAnewWithAnAnswer(t *testing.T) {
	c := newCaller(t, true)
	for c.now < 100*time.Second {
		c.fail(5*time.Second, peering.Unanswered)
	}
	c.said = nil
	went := c.now
	for len(c.said) < 2 {
		c.step(peering.Event{Kind: peering.Refused, Conn: c.conn, Reject: negotiation.Reject{Reason: negotiation.Busy}})
		c.conn = peering.Conn{}
		c.dial()
	}
	require.Equal(t, []peering.ActionKind{peering.Answers, peering.Down}, kinds(c.said))
	require.ErrorIs(t, c.said[1].Err, negotiation.Refused(negotiation.Busy))
	require.Equal(t, went+30*time.Second, c.now)
}

// TestRequestOfTheSilentPeer checks that a request of the silent peer ends the silence.
func TestRequestOfTheSilentPeer(t *testing.T) {
	c := newCaller(t, true)
	for c.now < time.Minute {
		c.fail(5*time.Second, peering.Unanswered)
	}
	conn := c.conn
	c.step(peering.Event{Kind: peering.Lost, Conn: conn, Contact: peering.Unanswered, Err: errBroken})
	c.said = nil
	c.step(peering.Event{Kind: peering.Requested, Conn: in1, Greeting: peering.Greeting{Attempt: 1}})
	require.Equal(t, []peering.ActionKind{peering.Answers, peering.Accept}, kinds(c.said))
	c.step(peering.Event{Kind: peering.FirstMessage, Conn: in1})
	require.Equal(t, peering.Use, c.said[2].Kind)
}

// TestEndOfASilentPeer checks that a machine stops waiting when the supervisor reports the death of the peer.
func TestEndOfASilentPeer(t *testing.T) {
	c := newCaller(t, true)
	for c.now < time.Minute {
		c.fail(5*time.Second, peering.Unanswered)
	}
	c.said = nil
	c.step(peering.Event{Kind: peering.Gone, Err: errBroken})
	require.Equal(t, []peering.ActionKind{peering.Down}, kinds(c.said))
}

// TestOwnStopIsNotThePeers stops this process for an hour. The test checks that this hour does not count towards
// GiveUp, and that another attempt follows. In some rows this attempt is the last one, because the times before
// and after the stop, without the stop itself, add up to GiveUp.
func TestOwnStopIsNotThePeers(t *testing.T) {
	for name, stopped := range map[string]struct {
		after   time.Duration // the time of unanswered attempts before the stop
		waiting bool          // stopped between two attempts
	}{
		"at the beginning":       {0, false},
		"in an attempt":          {20 * time.Second, false},
		"before the last":        {28 * time.Second, true},
		"while waiting for more": {10 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, false)
			for c.now < stopped.after {
				c.fail(500*time.Millisecond, peering.Unanswered)
			}
			if stopped.waiting {
				conn := c.conn
				c.conn = peering.Conn{}
				c.step(peering.Event{Kind: peering.Lost, Conn: conn, Contact: peering.Unanswered, Err: errBroken})
			}
			c.now += time.Hour
			c.conn = peering.Conn{}
			c.step(peering.Event{Kind: peering.Tick})
			c.dial()
			require.Empty(t, c.said)
			require.NotZero(t, c.conn, "another attempt")
			until := c.now
			for len(c.said) == 0 {
				c.fail(500*time.Millisecond, peering.Unanswered)
			}
			require.Equal(t, peering.Down, c.said[0].Kind)
			require.LessOrEqual(t, c.now, until+36*time.Second-stopped.after)
		})
	}
}

// TestOwnStopAtTheEnd checks that a process that was stopped after its last attempt makes another attempt.
func TestOwnStopAtTheEnd(t *testing.T) {
	c := newCaller(t, false)
	for c.now < 25*time.Second {
		c.fail(500*time.Millisecond, peering.Unanswered)
	}
	c.now = 29600 * time.Millisecond // the next pause is at least half a second
	conn := c.conn
	c.conn = peering.Conn{}
	c.step(peering.Event{Kind: peering.Lost, Conn: conn, Contact: peering.Unanswered, Err: errBroken})
	at, ok := c.m.Deadline()
	require.True(t, ok)
	require.Equal(t, 30*time.Second, at)
	c.now = time.Hour
	c.step(peering.Event{Kind: peering.Tick})
	c.dial()
	require.Empty(t, c.said)
	require.NotZero(t, c.conn)
}

// TestPatienceIsThatOfTheFirstWish checks that repeating the event Want does not extend GiveUp.
func TestPatienceIsThatOfTheFirstWish(t *testing.T) {
	c := newCaller(t, false)
	for len(c.said) == 0 && c.now < time.Minute {
		c.step(peering.Event{Kind: peering.Want})
		c.fail(time.Second, peering.Unanswered)
	}
	require.Equal(t, []peering.ActionKind{peering.Down}, kinds(c.said))
	require.Less(t, c.now, 32*time.Second)
}

// TestDeadlinesOfAttempts checks attempts that end because their deadline passes. The end of an attempt of this
// side says nothing about the peer. An accepted request of the peer shows that the peer lives.
func TestDeadlinesOfAttempts(t *testing.T) {
	for _, asked := range []bool{false, true} {
		c := newCaller(t, true)
		for i := uint16(1); len(c.said) == 0; i++ {
			if asked {
				c.step(peering.Event{Kind: peering.Requested, Conn: peering.Conn{Number: uint32(i)}, Greeting: peering.Greeting{Attempt: i}})
				require.Equal(t, peering.Accept, c.said[0].Kind)
				c.said = nil
			}
			at, ok := c.m.Deadline()
			require.True(t, ok)
			c.now = at
			c.step(peering.Event{Kind: peering.Tick})
			c.dial()
		}
		want := peering.Down
		if asked {
			want = peering.Silent
		}
		require.Equal(t, []peering.ActionKind{want}, kinds(c.said))
	}
}

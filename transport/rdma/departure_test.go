package rdma_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

var errKilled = errors.New("killed by the test")

// leaver is a scripted rank 1 whose connection rank 0 has accepted. The leaver ends without a BYE.
type leaver struct {
	*hand
	r *rank
}

// everywhere runs a test of rank 0 and a leaver on each kind of network.
func everywhere(t *testing.T, change func(c *rdma.Config), test func(l leaver)) {
	t.Helper()
	for name, places := range map[string][]place{
		"like InfiniBand": memory(verbstest.StyleInfiniBand, 2),
		"like iWARP":      memory(verbstest.StyleIWARP, 2),
		"tcp":             loopback(iwarp.New(iwarp.Config{}), 2),
	} {
		t.Run(name, func(t *testing.T) {
			r, u := loneAt(t, places, 2, change)
			r.check = func(int, transport.Header, []byte) {
				require.Empty(t, r.downs, "a message after the loss")
			}
			u.requests = 32
			c, n := credentials(1, 2), request(1)
			h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
			require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
			test(leaver{h, r})
			require.NoError(t, r.Close())
		})
	}
}

// speak sends the first frames of a connection: an update, and then frames with messages. The arguments are the
// number of frames and the number of messages in each frame.
func (l leaver) speak(frames, messages int) {
	l.Helper()
	l.say(frame(word(0, 0, 8, 0), kindUpdate))
	for i := range frames {
		var records []byte
		for range messages {
			records = append(records, message(0, "a last word")...)
		}
		l.say(frame(word(uint16(i), 0, 8, 0), kindEager, records...))
	}
}

// die ends the connection as the operating system of a dead process does: after the bytes that were sent.
func (l leaver) die() {
	l.Helper()
	require.NoError(l, l.endpoint.Disconnect(verbs.CloseGraceful))
	for range 100 { // until all bytes are on their way
		l.poll()
	}
}

// lost waits until rank 0 has reported the loss of the peer.
func (l leaver) lost() {
	l.Helper()
	l.settle(l.r, "the loss", func() bool { return len(l.r.downs) == 1 })
	require.ErrorIs(l, l.r.downs[0].Cause, errKilled)
}

// patient configures a rank that waits for the end of a lost peer's connection as long as the test may last.
func patient(c *rdma.Config) { c.Departure = patience }

// TestLastWordsArriveBeforeTheLoss has the node agent report the death of a process before rank 0 has polled the
// connection of this process. The connection is not even in use yet. The test checks that rank 0 delivers the
// messages of the dead process before it reports the loss.
func TestLastWordsArriveBeforeTheLoss(t *testing.T) {
	everywhere(t, patient, func(l leaver) {
		l.speak(1, 1)
		l.die()
		l.r.MarkDown(1, errKilled)
		l.lost()
		require.Equal(l, 1, l.r.arrivals)
	})
}

// TestLastWordsThatComeLate has the agent's notice of the death arrive before the last messages of the dead
// process. The test checks that the rank still delivers these messages before it reports the loss.
func TestLastWordsThatComeLate(t *testing.T) {
	everywhere(t, patient, func(l leaver) {
		l.r.MarkDown(1, errKilled)
		for range 100 {
			l.r.poll()
		}
		require.Empty(l, l.r.downs)
		l.speak(2, 3)
		l.die()
		l.lost()
		require.Equal(l, 6, l.r.arrivals)
	})
}

// TestLastWordsOutliveTheirConnection has a rank deliver at most three messages in each Poll, so that the rank
// sees the end of the connection before it has delivered all messages. The test checks that no message is lost.
func TestLastWordsOutliveTheirConnection(t *testing.T) {
	everywhere(t, patient, func(l leaver) {
		l.speak(1, 1)
		l.settle(l.r, "the first message", func() bool { return l.r.arrivals == 1 })
		for i := range uint16(2) {
			records := message(0, "1")
			for range 9 {
				records = append(records, message(0, "2")...)
			}
			l.say(frame(word(1+i, 0, 8, 0), kindEager, records...))
		}
		l.die()
		l.r.MarkDown(1, errKilled)
		for deadline := time.Now().Add(patience); len(l.r.downs) == 0; {
			n, err := l.r.Poll(l.r, 3)
			require.NoError(l, err)
			if n+l.poll() == 0 {
				require.False(l, time.Now().After(deadline), "no loss")
				l.r.sleeper.Yield()
			}
		}
		require.Equal(l, 21, l.r.arrivals)
	})
}

// TestLastWordsBehindOtherMessages has a rank see the first message of peer 2 and the end of its connection while the
// rank still delivers the messages of peer 1. The connection of peer 2 is not in use yet. The test checks that the
// message of peer 2 is not lost.
func TestLastWordsBehindOtherMessages(t *testing.T) {
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 3), 3, patient)
		u.requests = 32
		r.check = func(int, transport.Header, []byte) {}
		var peers [3]leaver
		for i := uint32(1); i < 3; i++ {
			c := negotiation.NewCredentials([]byte("a secret of the tests"), "test", i, 3)
			n := request(1)
			h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
			require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
			peers[i] = leaver{h, r}
		}
		peers[1].speak(1, 1)
		u.settle(r, "the first message", func() bool { return r.arrivals == 1 })
		peers[1].say(frame(word(1, 0, 8, 0), kindEager, bytes.Repeat(message(0, "x"), 20)...))
		peers[2].speak(1, 1)
		require.NoError(t, peers[2].endpoint.Disconnect(verbs.CloseAbrupt))
		for r.arrivals < 21 {
			_, err := r.Poll(r, 8)
			require.NoError(t, err)
		}
		r.MarkDown(2, errKilled)
		peers[2].lost()
		require.Equal(t, 2, r.order[len(r.order)-1])
		require.NoError(t, r.Abandon())
	}
}

// TestPeerThatGoesOnSending marks a peer down whose messages keep every Poll busy. The test checks that the rank gives
// up the peer after Departure and a bounded number of polls, although messages of the peer are left.
func TestPeerThatGoesOnSending(t *testing.T) {
	everywhere(t, func(c *rdma.Config) { c.Departure = time.Nanosecond }, func(l leaver) {
		const messages = 200
		l.speak(1, 1)
		l.settle(l.r, "the first message", func() bool { return l.r.arrivals == 1 })
		l.say(frame(word(1, 0, 8, 0), kindEager, bytes.Repeat(message(0, "a last word"), messages)...))
		pollUntil := func(what string, done func() bool) {
			for deadline := time.Now().Add(patience); !done(); l.poll() {
				require.False(l, time.Now().After(deadline), what)
				_, err := l.r.Poll(l.r, 1) // delivers one message
				require.NoError(l, err)
			}
		}
		pollUntil("the next message", func() bool { return l.r.arrivals == 2 })
		l.r.MarkDown(1, errKilled)
		pollUntil("the departure", func() bool { return l.r.arrivals == 3 })
		for deadline := time.Now().Add(patience); !l.r.Commanded(); l.r.sleeper.Yield() { // until the departure is late
			require.False(l, time.Now().After(deadline), "Departure is not over")
		}
		pollUntil("the loss", func() bool { return len(l.r.downs) == 1 })
		require.Less(l, l.r.arrivals, messages)
	})
}

// TestLossOfAPeerWhoseConnectionStands marks a peer down whose connection does not end. A connection does not
// end if the host of the peer has lost power, or if the process of the peer still runs. The test checks that
// the rank reports the loss once, after Departure.
func TestLossOfAPeerWhoseConnectionStands(t *testing.T) {
	everywhere(t, func(c *rdma.Config) { c.Departure = time.Millisecond }, func(l leaver) {
		l.speak(1, 1)
		l.settle(l.r, "a message", func() bool { return l.r.arrivals == 1 })
		l.r.MarkDown(1, errKilled)
		l.lost()
		l.r.MarkDown(1, errKilled)
		for range 100 {
			l.r.poll()
		}
		require.Len(l, l.r.downs, 1, "once")
	})
}

// TestFaultStoppedPeer is fault 22 of docs/connection-model.md, "Faults and tests": a peer was stopped, was
// declared lost, and goes on. The test checks that the peer can no longer write to the memory of this rank, and
// that the rank refuses connections from the same incarnation of the peer.
func TestFaultStoppedPeer(t *testing.T) {
	everywhere(t, func(c *rdma.Config) { c.Departure = time.Millisecond }, func(l leaver) {
		l.speak(1, 1)
		l.settle(l.r, "a message", func() bool { return l.r.arrivals == 1 })
		target := make([]byte, 64)
		k, err := l.r.Expose(target, transport.AccessWrite)
		require.NoError(l, err)
		write := func(b byte) error {
			s := l.memory.Segment(puppetReceive, len(target))
			for i := range s.Data {
				s.Data[i] = b
			}
			return l.endpoint.Post(&verbs.WorkRequest{
				Op: verbs.OpWrite, Segments: []verbs.Segment{s}, RemoteAddress: k.Addr, RKey: uint32(k.Token),
			})
		}
		require.NoError(l, write(1))
		l.settle(l.r, "what a living peer writes", func() bool { return target[63] == 1 })

		l.r.MarkDown(1, errKilled)
		for deadline := time.Now().Add(patience); len(l.r.downs) == 0; l.r.poll() { // the peer is stopped
			require.False(l, time.Now().After(deadline), "no loss")
			l.r.sleeper.Yield()
		}
		if err := write(2); err != nil {
			require.ErrorIs(l, err, verbs.ErrInvalidState)
		}
		for range 1000 {
			l.r.poll()
			l.poll()
		}
		require.Equal(l, byte(1), target[0])
		c, n := credentials(1, 2), request(2)
		again := l.dial(l.r.Address(), c.AppendRequest(nil, &n, 0))
		again.answer(l.r)
		require.Equal(l, negotiation.StaleEpoch, again.reason())
		require.Equal(l, uint64(1), l.r.Strangers().Repeated.Load())
	})
}

package rdma_test

import (
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// abrupt configures a rank whose Close waits for the acknowledgement of its messages, but not for the BYE frames
// of its peers.
func abrupt(c *rdma.Config) {
	impatient(c)
	c.Linger = patience
	c.Goodbye = time.Nanosecond
}

// fill sends numbered messages until Send returns ErrAgain.
func fill(t *testing.T, r *rank, peer int) {
	t.Helper()
	const length = 10_000
	for n := uint64(0); ; n++ {
		err := r.to(peer).Send(transport.Header{A: r.next[peer] + n, B: length}, numbered(r.next[peer]+n, length))
		if errors.Is(err, transport.ErrAgain) {
			return
		}
		require.NoError(t, err)
	}
}

// TestCloseSendsAgainWhatWasNotAcknowledged loses a connection with messages that are not acknowledged, and
// closes the rank. The test checks that the closing rank still accepts a connection, sends the messages again,
// and returns from Close when the peer has acknowledged them.
func TestCloseSendsAgainWhatWasNotAcknowledged(t *testing.T) {
	const messages = 3
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 2), 2, abrupt)
		c := credentials(1, 2)
		connect := func(attempt uint16) *hand {
			n := request(attempt)
			h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
			return h
		}
		h := connect(1)
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
		h.say(frame(word(0, 0, 8, 0), kindUpdate))
		for i := range uint64(messages) {
			u.settle(r, "a message", func() bool { return r.to(1).Send(transport.Header{A: i}, nil) == nil })
		}
		require.NoError(t, h.endpoint.Disconnect(verbs.CloseAbrupt))
		u.settle(r, "the loss", func() bool { return strings.HasSuffix(r.Explain(1), "not connected now") })

		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		again := connect(2)
		u.await("a connection", func() bool { return again.event != nil })
		require.Equal(t, verbs.EventEstablished, again.event.Type)
		again.say(frame(word(0, 0, 8, 0), kindUpdate))
		u.await("the messages and the wish for an answer", func() bool { return again.heard > messages })
		require.Empty(t, closed)
		again.say(frame(word(0, messages+1, 8, 0), kindUpdate))
		require.NoError(t, <-closed)
	}
}

// TestCloseAsksAgainForWhatFollowed has the peer ask a question while the rank closes. The rank sends its answer
// after its request for an acknowledgement. The test checks that the rank requests an acknowledgement again,
// because the first request does not cover the answer.
func TestCloseAsksAgainForWhatFollowed(t *testing.T) {
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 2), 2, abrupt)
		c, n := credentials(1, 2), request(1)
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
		h.say(frame(word(0, 0, 8, 0), kindUpdate))
		u.settle(r, "a message", func() bool { return r.to(1).Send(transport.Header{}, nil) == nil })

		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		u.await("an update, the message and the wish", func() bool { return h.heard == 3 })
		h.say(frame(word(0, 0, 8, 1), kindEager, question()...))
		u.await("the answer", func() bool { return h.heard == 4 })
		h.say(frame(word(0, 2, 8, 1), kindUpdate)) // acknowledges the first two frames, not the answer
		u.await("another wish", func() bool { return h.heard == 5 })
		require.Empty(t, closed)
		h.say(frame(word(0, 4, 8, 1), kindUpdate))
		require.NoError(t, <-closed)
	}
}

// question returns a recordCheck, which asks whether memory may be read. The memory that the record names does
// not exist.
func question() []byte {
	b := message(0, string(make([]byte, 8)))
	b[4] = recordCheck
	return b
}

// await polls only the puppet until done returns true.
func (u *puppet) await(what string, done func() bool) {
	u.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if u.poll() == 0 {
			require.False(u, time.Now().After(deadline), "still waiting: %s", what)
			goruntime.Gosched()
		}
	}
}

// TestCloseNamesThePeerThatTakesNothing checks that Close returns after Linger although a peer has stopped
// polling, and that the log names the peer.
func TestCloseNamesThePeerThatTakesNothing(t *testing.T) {
	for name, places := range providers(func(p verbs.Provider) *scissors { return &scissors{Provider: p} }) {
		t.Run(name, func(t *testing.T) {
			var lines []string
			ranks := newWorld(t, places(2), func(c *rdma.Config) {
				abrupt(c)
				c.Linger = time.Millisecond
				c.Log = func(line string) { lines = append(lines, line) }
			}).ranks(t)
			require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
			pump(t, ranks, "the first message", func() bool { return ranks[1].arrivals == 1 })
			fill(t, ranks[0], 1)
			require.NoError(t, ranks[0].Close())
			require.Len(t, lines, 1)
			require.Regexp(t, `^rdma: at the end rank 1 has not taken the last \d+ messages within 1ms$`, lines[0])
			ranks[1].check = func(int, transport.Header, []byte) {}
			require.NoError(t, ranks[1].Close())
		})
	}
}

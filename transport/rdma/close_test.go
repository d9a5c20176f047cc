package rdma_test

import (
	"errors"
	"fmt"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
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

// TestCloseEndsWhileAPeerAsks has the peer ask the next question as soon as it has the answer to the last one, while
// the rank closes. The test checks that Close returns although there is always an answer that is not acknowledged.
func TestCloseEndsWhileAPeerAsks(t *testing.T) {
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 2), 2, func(c *rdma.Config) {
			abrupt(c)
			c.Linger = time.Hour
		})
		c, n := credentials(1, 2), request(1)
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
		h.say(frame(word(0, 0, 64, 0), kindUpdate))
		u.settle(r, "a message", func() bool { return r.to(1).Send(transport.Header{}, nil) == nil })

		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		u.await("an update, the message and the wish", func() bool { return h.heard == 3 })
		connected := func() bool { return h.event.Type == verbs.EventEstablished }
		for asked, deadline := uint16(0), time.Now().Add(patience); connected(); asked++ {
			require.False(t, time.Now().After(deadline), "Close does not return")
			heard := h.heard
			h.say(frame(word(asked, uint16(heard-1), uint16(heard)+64, 1), kindEager, question()...))
			u.await("the answer or the end", func() bool { return h.heard > heard || !connected() })
		}
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
			require.Regexp(t, `^rdma: close: rank 1 has not acknowledged the last \d+ frames, whose messages may be lost: no answer within 1ms$`, lines[0])
			ranks[1].check = func(int, transport.Header, []byte) {}
			require.NoError(t, ranks[1].Close())
		})
	}
}

// unanswered connects two ranks, and has rank 0 send messages that rank 1 does not take.
func unanswered(t *testing.T, places []place, change func(c *rdma.Config)) []*rank {
	t.Helper()
	ranks := newWorld(t, places, func(c *rdma.Config) {
		abrupt(c)
		change(c)
	}).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	pump(t, ranks, "the first message", func() bool { return ranks[1].arrivals == 1 })
	fill(t, ranks[0], 1)
	ranks[1].check = func(int, transport.Header, []byte) {}
	return ranks
}

// ends closes a rank, and then its peer. It fails the test if the first Close does not return.
func ends(t *testing.T, ranks []*rank) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- ranks[0].Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(patience):
		require.FailNow(t, "Close does not return")
	}
	require.NoError(t, ranks[1].Close())
}

// TestCloseWhenAnAdapterFails has an adapter of a rank fail while the rank closes and its peer takes nothing. If the
// rank has another adapter, Close has to return after Linger. If the failed adapter was the only one, Close has to
// return without waiting for Linger, because nothing can arrive any more.
func TestCloseWhenAnAdapterFails(t *testing.T) {
	for name, c := range map[string]struct {
		failing int
		single  bool
		linger  time.Duration
		logged  string
	}{
		"the only one":       {0, true, time.Hour, "has not acknowledged the last %s frames, whose messages may be lost: device was removed"},
		"the one in use":     {0, false, time.Millisecond, "has not acknowledged the last %s frames, whose messages may be lost: no answer within 1ms"},
		"the one in reserve": {1, false, time.Millisecond, "has not acknowledged the last %s frames, whose messages may be lost: no answer within 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rails{first: memory(verbstest.StyleInfiniBand, 2), second: memory(verbstest.StyleIWARP, 2)}
			at := &[]*place{&r.first[0], &r.second[0]}[c.failing].provider
			s := &scissors{Provider: *at, events: make(chan provider.Event, 1)}
			*at = s
			var log lines
			ranks := unanswered(t, r.first, func(config *rdma.Config) {
				if !c.single {
					r.config(config)
				}
				config.Linger, config.GiveUp, config.Log = c.linger, time.Hour, log.log
			})
			s.events <- provider.Event{Kind: provider.EventRemoved}
			ends(t, ranks)
			require.Empty(t, s.events)
			require.True(t, slices.ContainsFunc(log.all, func(line string) bool {
				return regexp.MustCompile(fmt.Sprintf(c.logged, `\d+`)).MatchString(line)
			}), log.all)
		})
	}
}

// restless is a provider whose devices report an event at each Progress while noisy is true.
type restless struct {
	verbs.Provider
	noisy atomic.Bool
}

type restlessDevice struct {
	provider.Device
	adapter  provider.Adapter
	provider *restless
}

// Open implements provider.Provider.
func (p *restless) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := p.Provider.Open(name, a)
	return &restlessDevice{d, a, p}, err
}

// Progress implements provider.Device.
func (d *restlessDevice) Progress() (int, error) {
	n, err := d.Device.Progress()
	if d.provider.noisy.Load() {
		d.adapter.Happened(provider.Event{Kind: provider.EventPortUp})
		n++
	}
	return n, err
}

// TestCloseWhileEventsArrive checks that Close returns after Linger although each of its polls finds an event. A
// peer that sends all the time, and takes nothing, has the same effect.
func TestCloseWhileEventsArrive(t *testing.T) {
	places := memory(verbstest.StyleInfiniBand, 2)
	p := &restless{Provider: places[0].provider}
	places[0].provider = p
	ranks := unanswered(t, places, func(c *rdma.Config) { c.Linger = time.Millisecond })
	p.noisy.Store(true)
	ends(t, ranks)
}

package rdma_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// lone returns rank 0 of a job of the given size, and a puppet that plays all other ranks.
func lone(t *testing.T, size int, change func(c *rdma.Config)) (*rank, *puppet) {
	t.Helper()
	return loneAt(t, memory(verbstest.StyleInfiniBand, 2), size, change)
}

// loneAt is like lone, with the rank at places[0] and the puppet at places[1].
func loneAt(tb testing.TB, places []place, size int, change func(c *rdma.Config)) (*rank, *puppet) {
	tb.Helper()
	w := newWorld(tb, places[:1], func(c *rdma.Config) {
		c.Size = size
		if change != nil {
			change(c)
		}
	})
	r := w.ranks(tb)[0]
	r.next = make([]uint64, size)
	return r, newPuppet(tb, places[1], size)
}

// reason returns the reason why rank 0 has rejected the hand's request. The refusal has to carry a valid tag.
func (h *hand) reason() negotiation.Reason {
	h.Helper()
	require.Equal(h, verbs.EventPeerRejected, h.event.Type)
	return reasonOf(h, h.event.PrivateData, h.asked, 0)
}

// reasonOf returns the reason in a rank's refusal of a request. The tag of the refusal covers the request as it
// arrived. If the request was cut short, it may have arrived with zeros at its end.
func reasonOf(tb testing.TB, refusal, asked []byte, from uint32) negotiation.Reason {
	tb.Helper()
	c := credentials(0, 2)
	reject, err := c.OpenReject(refusal, asked, from)
	if err != nil && len(asked) < negotiation.Size {
		reject, err = c.OpenReject(refusal, append(bytes.Clone(asked), make([]byte, negotiation.Size-len(asked))...), from)
	}
	require.NoError(tb, err)
	return reject.Reason
}

func TestStrangersAreRefusedWithTheirReason(t *testing.T) {
	const size = 3
	var lines []string
	r, u := lone(t, size, func(c *rdma.Config) { c.Log = func(line string) { lines = append(lines, line) } })
	as := func(change func(c *negotiation.Credentials, n *negotiation.Record)) []byte {
		c, n := credentials(1, size), request(1)
		change(&c, &n)
		return c.AppendRequest(nil, &n, 0)
	}
	good := as(func(*negotiation.Credentials, *negotiation.Record) {})
	other := append([]byte{}, good...)
	other[2] = 0xF0
	for _, s := range []struct {
		name string
		data []byte
		want negotiation.Reason
	}{
		{"nothing", nil, negotiation.BadLength},
		{"garbage", []byte(strings.Repeat("garbage ", 7)), negotiation.BadLength},
		{"a record cut short", good[:55], negotiation.Auth}, // the network pads the record with zeros
		{"another version", other, negotiation.Version},
		{"another job", as(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Job++ }), negotiation.Job},
		{"another secret", as(func(c *negotiation.Credentials, _ *negotiation.Record) { *c = guessing(1, size) }), negotiation.Auth},
		{"another destination", func() []byte {
			c, n := credentials(1, size), request(1)
			return c.AppendRequest(nil, &n, 2)
		}(), negotiation.Auth},
		{"the rank itself", as(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Rank = 0 }), negotiation.WrongRank},
		{"a rank that there is not", as(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Rank = size }), negotiation.WrongRank},
	} {
		h := u.dial(r.Address(), s.data)
		h.answer(r)
		require.Equal(t, s.want, h.reason(), s.name)
	}
	c := r.Strangers()
	require.Equal(t, []uint64{1, 3, 3, 2}, []uint64{c.OtherJob.Load(), c.Unproved.Load(), c.Foreign.Load(), c.Misplaced.Load()})

	h := u.dial(r.Address(), good)
	require.Equal(t, verbs.EventEstablished, h.answer(r).Type, "the job runs on")
	h.say(frame(word(0, 0, 8, 0), kindUpdate))
	h.say(frame(word(0, 0, 8, 0), kindEager, message(0, "\x00\x01\x02")...))
	u.settle(r, "a message", func() bool { return r.arrivals == 1 })
	require.NoError(t, r.Close()) // Close has written all log lines
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "rdma: a connection from 10.0.0.2:")
}

func TestOldRequestsAreRefused(t *testing.T) {
	r, u := lone(t, 2, nil)
	c := credentials(1, 2)
	ask := func(incarnation, attempt uint16) (*hand, *verbs.Event) {
		n := request(attempt)
		n.Incarnation = incarnation
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		return h, h.answer(r)
	}
	first, e := ask(3, 5)
	require.Equal(t, verbs.EventEstablished, e.Type)
	first.say(frame(word(0, 0, 8, 0), kindUpdate))
	again, _ := ask(3, 5)
	require.Equal(t, negotiation.Duplicate, again.reason(), "a recorded request")
	again, _ = ask(2, 9)
	require.Equal(t, negotiation.StaleEpoch, again.reason(), "an earlier incarnation")
	require.Equal(t, []uint64{2, 0}, []uint64{r.Strangers().Repeated.Load(), r.Strangers().Declined.Load()})
	first.say(frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))
	r.check = func(int, transport.Header, []byte) {}
	u.settle(r, "a message on the first", func() bool { return r.arrivals == 1 })
	_, e = ask(3, 6)
	require.Equal(t, verbs.EventEstablished, e.Type, "a later attempt")
	require.NoError(t, r.Close())
}

// TestDamagedFramesEndTheirPeer checks that a frame that no correct peer sends makes the rank report this peer
// as down with ErrDamaged, and has no other effect.
func TestDamagedFramesEndTheirPeer(t *testing.T) {
	long := message(0, "payload")
	long[0] = 200
	kind := message(0, "payload")
	kind[4] = 99
	hello := frame(word(0, 0, 8, 0), kindUpdate)
	flood := func() [][]byte {
		list := [][]byte{hello}
		for i := range uint16(30) {
			list = append(list, frame(word(i, 0, 8, 0), kindEager, message(uint64(i), "x")...))
		}
		return list
	}
	for name, frames := range map[string][][]byte{
		"an empty frame":         {hello, {}},
		"half a head":            {hello, hello[:12]},
		"a kind that is none":    {hello, frame(word(0, 0, 8, 0), 9)},
		"flags that are none":    {hello, append(append([]byte{}, hello[:9]...), 2, 0, 0, 0, 0, 0, 0)},
		"an update with more":    {hello, append(append([]byte{}, hello...), 1)},
		"a proof without one":    {hello, frame(word(0, 0, 8, 0), kindProof)},
		"a second proof":         {hello, frame(word(0, 0, 8, 0), kindProof, make([]byte, negotiation.ProofSize)...)},
		"half a record":          {hello, frame(word(0, 0, 8, 0), kindEager, long[:20]...)},
		"a record too long":      {hello, frame(word(0, 0, 8, 0), kindEager, long...)},
		"a record that is none":  {hello, frame(word(0, 0, 8, 0), kindEager, kind...)},
		"a frame too early":      {hello, frame(word(7, 0, 8, 0), kindEager, message(0, "x")...)},
		"an ack of what is not":  {hello, frame(word(0, 9, 8, 0), kindEager, message(0, "x")...)},
		"a limit that goes back": {hello, frame(word(0, 0, 3, 0), kindEager, message(0, "x")...)},
		"updates never sent":     {hello, frame(word(0, 0, 8, 5), kindEager, message(0, "x")...)},
	} {
		t.Run(name, func(t *testing.T) { damage(t, frames) })
	}
	t.Run("frames without a credit", func(t *testing.T) { damage(t, flood()) })
}

// frameRoom is the number of bytes of memory for each frame that is sent.
const frameRoom = 1024

func damage(t *testing.T, frames [][]byte) {
	t.Helper()
	r, u := lone(t, 3, nil)
	r.check = func(int, transport.Header, []byte) {}
	u.requests = len(frames) + 1
	dial := func(as int) *hand {
		c, n := credentials(as, 3), request(1)
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
		return h
	}
	bad, good := dial(1), dial(2)
	good.say(frame(word(0, 0, 8, 0), kindUpdate))
	// The rank does not poll during this loop, because it would grant more credit.
	for i, f := range frames {
		if i == 0 {
			f = prove(bytes.Clone(f), bad.asked, bad.event.PrivateData)
		}
		s := bad.memory.Segment(puppetReceive+i*frameRoom, len(f))
		copy(s.Data, f)
		require.NoError(t, bad.endpoint.Post(&verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{s}}))
	}
	u.settle(r, "the loss", func() bool { return len(r.downs) == 1 })
	require.Equal(t, 1, r.downs[0].Peer)
	require.ErrorIs(t, r.downs[0], transport.ErrDamaged)
	before := r.arrivals
	good.say(frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))
	u.settle(r, "a message of the other", func() bool { return r.arrivals == before+1 })
	require.NoError(t, r.Close())
}

// TestPortIsOpenToStrangers opens TCP connections on which strangers send nothing, a part of a request, or
// invalid bytes. The test checks that ranks still connect and exchange messages.
func TestPortIsOpenToStrangers(t *testing.T) {
	var lines []string
	p := iwarp.New(iwarp.Config{HalfOpenMax: 16, Log: func(line string) { lines = append(lines, line) }})
	ranks := newWorld(t, loopback(p, 2), nil).ranks(t)
	var conns []net.Conn
	for i := range 64 {
		c, err := net.Dial("tcp", ranks[1].Address().String())
		require.NoError(t, err)
		conns = append(conns, c)
		switch i % 3 {
		case 1:
			_, err = c.Write([]byte("GET / HTTP/1.1\r\nHost: gorun\r\n\r\n"))
		case 2:
			_, err = c.Write([]byte("MPA ID R"))
		}
		if err != nil {
			t.Logf("dropped already: %v", err)
		}
	}
	for i := range uint64(10) {
		require.NoError(t, drive(t, ranks, "send", func() error {
			return ranks[0].to(1).Send(transport.Header{A: i, B: 5}, numbered(i, 5))
		}))
	}
	pump(t, ranks, "the messages", func() bool { return ranks[1].arrivals == 10 })
	require.Positive(t, p.Counters().Strangers.Load())
	require.Positive(t, p.Counters().Crowded.Load())
	closeAll(t, ranks)
	require.Len(t, lines, 1)
	for _, c := range conns {
		require.NoError(t, c.Close(), fmt.Sprint(c.LocalAddr()))
	}
}

// TestOldSidesAreRefused checks that a rank accepts a request for a side connection once, and refuses it if a stranger
// has recorded it and sends it again. Looks and requests for main connections have numbers of their own.
func TestOldSidesAreRefused(t *testing.T) {
	const size = 3 // a rank with two adapters accepts two side connections for each other rank
	both := &rails{first: memory(verbstest.StyleInfiniBand, 2), second: memory(verbstest.StyleIWARP, 2)}
	r, u := loneAt(t, both.first, size, both.striped)
	c := credentials(1, size)
	ask := func(purpose negotiation.Purpose, incarnation, attempt uint16) (*hand, *verbs.Event) {
		n := request(attempt)
		n.Incarnation, n.Purpose = incarnation, purpose
		h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
		return h, h.answer(r)
	}
	look, _ := ask(negotiation.Look, 3, 9)
	require.Equal(t, negotiation.Reachable, look.reason())
	for _, s := range []struct {
		incarnation, attempt uint16
		want                 bool
	}{{3, 5, true}, {3, 5, false}, {3, 4, false}, {3, 6, true}, {2, 7, false}, {4, 1, true}} {
		h, e := ask(negotiation.Bulk, s.incarnation, s.attempt)
		if s.want {
			require.Equal(t, verbs.EventEstablished, e.Type, "%v", s)
			continue
		}
		require.Equal(t, negotiation.Duplicate, h.reason(), "%v", s)
	}
	_, e := ask(negotiation.Lane, 4, 1)
	require.Equal(t, verbs.EventEstablished, e.Type)
	require.Equal(t, []uint64{3, 0}, []uint64{r.Strangers().Repeated.Load(), r.Strangers().Declined.Load()})
	require.NoError(t, r.Close())
}

package rdma_test

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// windowIn returns the window that a rank grants to rank 1.
func windowIn(r *rank) int {
	r.Helper()
	found := regexp.MustCompile(`window now \d+ out and (\d+) in`).FindStringSubmatch(r.Explain(1))
	require.NotNil(r, found, r.Explain(1))
	n, err := strconv.Atoi(found[1])
	require.NoError(r, err)
	return n
}

// limit returns the credit limit in the last frame that has arrived at a hand.
func (h *hand) limit() int { return int(uint16(binary.LittleEndian.Uint64(h.memory.Bytes()) >> 16)) }

// TestReceivesComeBack connects a peer again and again, and the peer repeats a message that it sent before each
// loss. The test checks that exactly one receive is posted for every credit.
func TestReceivesComeBack(t *testing.T) {
	const connections, frames = 5, 4
	for _, style := range []verbstest.Style{verbstest.StyleInfiniBand, verbstest.StyleIWARP} {
		r, u := loneAt(t, memory(style, 2), 2, impatient)
		r.check = func(int, transport.Header, []byte) {}
		u.requests = 32
		c, window := credentials(1, 2), 0
		for i := range connections {
			n := request(uint16(i + 1))
			h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
			require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
			h.say(frame(word(0, 0, 8, 0), kindUpdate))
			said, from := 0, i*frames
			for seq := max(from-1, 0); seq < from+frames; seq++ {
				h.say(frame(word(uint16(seq), 0, 8, 0), kindEager, message(0, "x")...))
				u.settle(r, "a message", func() bool { return r.arrivals >= min(seq+1, from+frames) })
				said++
			}
			require.Equal(t, from+frames, r.arrivals)
			for range 10 {
				r.poll()
				u.poll()
			}
			if window == 0 {
				window = windowIn(r)
			}
			require.Equal(t, window, windowIn(r), "connection %d", i)
			require.LessOrEqual(t, h.limit(), said+window, "connection %d", i)
			require.Greater(t, h.limit(), said, "connection %d", i)
			posted, needed := r.Receives()
			require.Equal(t, needed, posted, "connection %d", i)
			require.NoError(t, h.endpoint.Disconnect(verbs.CloseAbrupt))
			u.settle(r, "the loss", func() bool { _, needed := r.Receives(); return needed == 0 })
		}
		require.Empty(t, r.downs)
		require.NoError(t, r.Close())
	}
}

// TestSendMemoryComesBack checks that acknowledged messages use no send memory.
func TestSendMemoryComesBack(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), nil).ranks(t)
	e, sent, before := ranks[0].to(1), uint64(0), 0
	for i, length := range []int{0, 0, 100, 1000, e.Caps().MaxEager} {
		for range 50 {
			h := transport.Header{A: sent, B: uint64(length)}
			require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(h, numbered(sent, length)) }))
			sent++
		}
		// The marker of a Put is acknowledged at once, together with all frames before it.
		token := ranks[0].token()
		k, err := ranks[1].Expose(make([]byte, 8), transport.AccessWrite)
		require.NoError(t, err)
		require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(make([]byte, 8), k, token) }))
		pump(t, ranks, "the acknowledgement", func() bool {
			_, frames := ranks[0].SendMemory(1)
			_, done := ranks[0].done[token]
			return frames == 0 && done && ranks[1].next[0] == sent
		})
		used, _ := ranks[0].SendMemory(1)
		if i == 0 {
			before = used // memory of the control frames of the connection
		}
		require.Equal(t, before, used, "%d bytes", length)
	}
	closeAll(t, ranks)
}

// TestMessagesOutliveAGoodbye has a peer send BYE while a message is not acknowledged. The test checks that the
// rank asks for another connection.
func TestMessagesOutliveAGoodbye(t *testing.T) {
	var lookups atomic.Int32
	r, u := lone(t, 2, func(c *rdma.Config) {
		impatient(c)
		c.Lookup = func(int) ([]rdma.Location, error) {
			lookups.Add(1)
			return nil, transport.ErrNotSupported
		}
	})
	c, n := credentials(1, 2), request(1)
	h := u.dial(r.Address(), c.AppendRequest(nil, &n, 0))
	require.Equal(t, verbs.EventEstablished, h.answer(r).Type)
	h.say(frame(word(0, 0, 8, 0), kindUpdate))
	u.settle(r, "a message", func() bool { return r.to(1).Send(transport.Header{}, nil) == nil })
	require.Zero(t, lookups.Load())
	h.say(frame(word(0, 0, 8, 0), kindBye))
	u.settle(r, "another connection is asked for", func() bool { return lookups.Load() > 0 })
	require.Empty(t, r.downs)
	require.NoError(t, r.Close())
}

// TestNoReads checks that a rank with NoReads reports that it cannot Get, and that its Puts succeed.
func TestNoReads(t *testing.T) {
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), func(c *rdma.Config) { c.NoReads = true }).ranks(t)
	target := make([]byte, 1000)
	k, err := ranks[1].Expose(target, transport.AccessRead|transport.AccessWrite)
	require.NoError(t, err)
	e, token := ranks[0].to(1), ranks[0].token()
	require.NoError(t, drive(t, ranks, "put", func() error { return e.Put(numbered(1, 1000), k, token) }))
	pump(t, ranks, "the put", func() bool { _, ok := ranks[0].done[token]; return ok })
	require.NoError(t, ranks[0].done[token])
	require.Equal(t, numbered(1, 1000), target)
	require.False(t, e.Caps().Get)
	require.Zero(t, e.Caps().MaxReads)
	require.ErrorIs(t, e.Get(make([]byte, 8), k, ranks[0].token()), transport.ErrNotSupported)
	closeAll(t, ranks)
}

// TestManyGetsAtOnce starts many Gets at once. Their number exceeds the number of RDMA Reads that the
// connection can issue at once, and the number of entries of the send queue. The test checks that all of them
// end with the right bytes.
func TestManyGetsAtOnce(t *testing.T) {
	const gets, length = 64, 100
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), func(c *rdma.Config) { c.ReadsOut = 1 }).ranks(t)
	source := numbered(3, gets*length)
	k, err := ranks[1].Expose(source, transport.AccessRead)
	require.NoError(t, err)
	e := ranks[0].to(1)
	require.NoError(t, drive(t, ranks, "send", func() error { return e.Send(transport.Header{}, nil) }))
	require.Equal(t, 1, e.Caps().MaxReads)
	var parts [gets][]byte
	for i := range parts {
		parts[i] = make([]byte, length)
		require.NoError(t, e.Get(parts[i], k.At(i*length), uint64(i)))
	}
	require.ErrorIs(t, e.Get(make([]byte, 8), k, gets), transport.ErrAgain)
	pump(t, ranks, "the bytes", func() bool { return len(ranks[0].done) == gets })
	for i := range parts {
		require.NoError(t, ranks[0].done[uint64(i)])
		require.Equal(t, source[i*length:(i+1)*length], parts[i])
	}
	require.NotContains(t, ranks[0].Explain(1), "connected 2 times")
	closeAll(t, ranks)
}

package rdma_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// knock asks a rank for a connection, which the rank accepts, and returns the reply. The next bytes that are
// written to w are the first FPDU.
func knock(t *testing.T, r *rank, attempt uint16) (w *wire, reply []byte) {
	t.Helper()
	w = phone(t, r).ask(record(1, 0, attempt))
	flags, reply := w.startup(replyKey)
	require.Zero(t, flags&0x20, "it is refused")
	return w, reply
}

// rtr returns the FPDU of the empty RDMA Write that ends the startup. sends returns the FPDU of a Send.
func rtr() []byte { return fpdu(append([]byte{0xC1, 0x40}, make([]byte, 12)...)...) }

func sends(msn uint32, message []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0}, msn)
	return fpdu(append(append(b, 0, 0, 0, 0), message...)...)
}

// hello returns the first frame of a connection, without the proof.
func hello() []byte { return frame(word(0, 0, 8, 0), kindUpdate) }

// unhurried configures a rank that waits for a proof as long as a test may take, because on a busy host the test
// itself may send the proof late.
func unhurried(c *rdma.Config) {
	impatient(c)
	c.Confirm = patience
}

// TestNothingIsTakenBeforeTheProof connects a stranger whose request has a valid tag, for example because it was
// recorded, but who does not know the secret. The test checks that the rank ends each of these connections,
// counts them, and delivers none of their messages. A rank with the secret gets its connection.
func TestNothingIsTakenBeforeTheProof(t *testing.T) {
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{StartTimeout: patience}), 2), 2, unhurried)
	r.check = func(int, transport.Header, []byte) {}
	attempt, count := uint16(0), uint64(0)
	try := func(what string, first func(asked, reply []byte) []byte) {
		t.Helper()
		attempt++
		count++
		w, reply := knock(t, r, attempt)
		// A message follows the first frame in the same write. The rank must not deliver it.
		w.write(slices.Concat(rtr(), sends(1, first(w.asked, reply)), sends(2, frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))))
		w.until(what, func() bool { return w.eof && r.Strangers().Unproved.Load() == count })
		require.Zero(t, r.arrivals, what)
		require.Empty(t, r.downs, what)
	}
	var old, oldAsked, oldReply []byte
	try("no proof", func(asked, reply []byte) []byte {
		oldAsked, oldReply = asked, reply
		old = prove(hello(), asked, reply)
		return hello()
	})
	try("a message", func([]byte, []byte) []byte {
		return frame(word(0, 0, 8, 0), kindEager, message(0, "x")...)
	})
	try("nothing", func([]byte, []byte) []byte { return nil })
	try("the proof of another connection", func([]byte, []byte) []byte { return old })
	try("of another reply", func(asked, _ []byte) []byte { return prove(hello(), asked, oldReply) })
	try("of another request", func(_, reply []byte) []byte { return prove(hello(), oldAsked, reply) })
	try("a guess", func(asked, reply []byte) []byte {
		c := guessing(1, 2)
		return c.AppendProof(hello(), asked, reply)
	})
	try("more behind it", func(asked, reply []byte) []byte { return append(prove(hello(), asked, reply), 0) })
	for at := range len(old) {
		try("a bit", func(asked, reply []byte) []byte {
			b := prove(hello(), asked, reply)
			b[at] ^= 1 << (at % 8)
			return b
		})
	}
	attempt++
	w, reply := knock(t, r, attempt)
	w.write(slices.Concat(rtr(), sends(1, prove(hello(), w.asked, reply)), sends(2, frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))))
	w.until("the message", func() bool { return r.arrivals == 1 })
	require.NoError(t, r.Close())
}

// TestRecordedConnectionIsRefused records all bytes that a peer sends to one incarnation of a rank, and sends
// them to the next incarnation. The next incarnation does not remember the number of the attempt, so only the
// proof shows that the bytes are old. The test checks that the next incarnation ends the connection, counts it,
// and delivers no message.
func TestRecordedConnectionIsRefused(t *testing.T) {
	var recorded []byte
	for life := range uint16(2) {
		r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{StartTimeout: patience}), 2), 2, func(c *rdma.Config) {
			unhurried(c)
			c.Incarnation = life
		})
		r.check = func(int, transport.Header, []byte) {}
		if life == 0 {
			w, reply := knock(t, r, 1)
			rest := slices.Concat(rtr(), sends(1, prove(hello(), w.asked, reply)), sends(2, frame(word(0, 0, 8, 0), kindEager, message(0, "x")...)))
			recorded = slices.Concat(startup(requestKey, w.asked), rest)
			w.write(rest)
			w.until("the message", func() bool { return r.arrivals == 1 })
			require.NoError(t, r.Close())
			continue
		}
		w := phone(t, r)
		w.write(recorded)
		w.until("the end", func() bool { return w.eof && r.Strangers().Unproved.Load() == 1 })
		require.Zero(t, r.arrivals)
		require.NoError(t, r.Close())
	}
}

// TestSilenceBeforeTheProofEnds checks that a rank closes an accepted connection at the deadline if the peer
// sends nothing, or only a part of the proof.
func TestSilenceBeforeTheProofEnds(t *testing.T) {
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, impatient)
	r.check = func(int, transport.Header, []byte) {}
	for i, what := range []string{"nothing", "the RTR", "half a proof"} {
		w, reply := knock(t, r, uint16(i+1))
		first := slices.Concat(rtr(), sends(1, prove(hello(), w.asked, reply)))
		_, _ = w.conn.Write(first[:[]int{0, len(rtr()), len(first) - 9}[i]]) // an error is expected after the deadline
		w.until(what, func() bool { return w.eof })
	}
	require.Zero(t, r.arrivals)
	require.Empty(t, r.downs)
	require.NoError(t, r.Close())
}

// TestSlowProofIsTaken checks that a rank accepts a proof that arrives one byte at a time.
func TestSlowProofIsTaken(t *testing.T) {
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{StartTimeout: patience}), 2), 2, unhurried)
	r.check = func(int, transport.Header, []byte) {}
	w, reply := knock(t, r, 1)
	for _, b := range slices.Concat(rtr(), sends(1, prove(hello(), w.asked, reply)), sends(2, frame(word(0, 0, 8, 0), kindEager, message(0, "x")...))) {
		w.write([]byte{b})
		r.poll()
	}
	w.until("the message", func() bool { return r.arrivals == 1 })
	require.NoError(t, r.Close())
}

// meddler forwards TCP connections to an address. It changes one byte in one direction of the first connection.
type meddler struct {
	listener net.Listener
	to       string
	// at is the index of the byte. If answer is set, the byte is in the bytes of the passive side, otherwise the
	// byte is in the bytes of the active side.
	at     int
	answer bool

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

func newMeddler(t *testing.T, to string, at int, answer bool) *meddler {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &meddler{listener: l, to: to, at: at, answer: answer}
	m.done.Go(m.run)
	t.Cleanup(func() {
		_ = l.Close()
		m.mu.Lock()
		for _, c := range m.conns {
			_ = c.Close()
		}
		m.conns, m.to = nil, ""
		m.mu.Unlock()
		m.done.Wait()
	})
	return m
}

func (m *meddler) run() {
	for first := true; ; first = false {
		in, err := m.listener.Accept()
		if err != nil {
			return
		}
		m.mu.Lock()
		out, err := net.Dial("tcp", m.to)
		if err != nil || m.to == "" {
			m.mu.Unlock()
			_ = in.Close()
			continue
		}
		m.conns = append(m.conns, in, out)
		m.mu.Unlock()
		forward, back := -1, -1
		if first && m.answer {
			back = m.at
		} else if first {
			forward = m.at
		}
		m.done.Go(func() { pass(out, in, forward) })
		m.done.Go(func() { pass(in, out, back) })
	}
}

// pass copies a stream and changes the byte at index at, if at is not negative.
func pass(to, from net.Conn, at int) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if at >= 0 && at < n {
			b[at] ^= 1 << (at % 8)
		}
		at -= n
		if _, e := to.Write(b[:n]); e != nil || err != nil {
			_ = to.(*net.TCPConn).CloseWrite()
			if err != nil && !errors.Is(err, io.EOF) || e != nil {
				_ = to.Close()
				_ = from.Close()
			}
			return
		}
	}
}

// TestManInTheMiddle changes one byte of the handshake in each run. Only the first connection is changed. The
// test checks that a message still arrives unchanged, and that no rank reports a loss.
func TestManInTheMiddle(t *testing.T) {
	const mpa = 20 + 4 + negotiation.Size
	first := mpa + len(rtr()) + len(sends(1, make([]byte, 16+negotiation.ProofSize)))
	step := 7
	if testing.Short() {
		step = 31
	}
	if os.Getenv("GORUN_SOAK") == "1" {
		step = 1
	}
	for answer, length := range map[bool]int{false: first, true: mpa} {
		for at := 0; at < length; at += step {
			meddle(t, at, answer)
		}
	}
}

func meddle(t *testing.T, at int, answer bool) {
	t.Helper()
	var m *meddler
	w := newWorld(t, loopback(iwarp.New(iwarp.Config{RequestTimeout: 200 * time.Millisecond, StartTimeout: 200 * time.Millisecond}), 2), func(c *rdma.Config) {
		c.Attempt, c.Confirm, c.RetryMin, c.RetryMax = 200*time.Millisecond, 200*time.Millisecond, time.Millisecond, 2*time.Millisecond
		lookup := c.Lookup
		c.Lookup = func(rank int) ([]rdma.Location, error) {
			if rank == 1 {
				return locations(m), nil
			}
			return lookup(rank)
		}
	})
	m = newMeddler(t, w.transports[1].Locations()[0].Address.String(), at, answer)
	ranks := w.ranks(t)
	payload := bytes.Repeat([]byte{0xA5}, 100)
	ranks[1].check = func(peer int, h transport.Header, b []byte) {
		require.Equal(t, payload, b, "byte %d, answer %v", at, answer)
	}
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, payload) }))
	pump(t, ranks, "the message", func() bool { return ranks[1].arrivals == 1 })
	require.Empty(t, ranks[0].downs, "byte %d, answer %v", at, answer)
	require.Empty(t, ranks[1].downs, "byte %d, answer %v", at, answer)
	closeAll(t, ranks)
}

func locations(m *meddler) []rdma.Location {
	return at(m.listener.Addr().(*net.TCPAddr).AddrPort())
}

package rdma_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// wire is a scripted peer on a TCP connection with a rank. It writes the bytes of MPA frames itself.
type wire struct {
	testing.TB
	r    *rank
	conn net.Conn
	// asked is the private data of the request that was written.
	asked []byte
	in    []byte
	eof   bool
}

// phone connects to the rank.
func phone(t *testing.T, r *rank) *wire {
	t.Helper()
	c, err := net.Dial("tcp", r.Address().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &wire{TB: t, r: r, conn: c}
}

// startup returns an MPA request or reply of revision 2 with CRC, depths of 4 and an RTR.
func startup(key string, private []byte) []byte {
	b := append([]byte(key), 0x50, 2)
	b = binary.BigEndian.AppendUint16(b, uint16(4+len(private)))
	return append(append(b, 0x80, 4, 0x80, 4), private...)
}

const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"
)

func (w *wire) write(b []byte) {
	w.Helper()
	_, err := w.conn.Write(b)
	require.NoError(w, err)
}

// until polls the rank, and reads the bytes that the rank sends, until done returns true.
func (w *wire) until(what string, done func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		w.r.poll()
		require.False(w, time.Now().After(deadline), "still waiting: %s", what)
		require.NoError(w, w.conn.SetReadDeadline(time.Now().Add(time.Millisecond)))
		b := make([]byte, 1024)
		n, err := w.conn.Read(b)
		w.in = append(w.in, b[:n]...)
		w.eof = w.eof || err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	}
}

// startup waits for an MPA request or reply of the rank, and returns its flags and private data.
func (w *wire) startup(key string) (flags byte, private []byte) {
	w.Helper()
	require.True(w, w.started(key), "the connection ended")
	length := 20 + int(binary.BigEndian.Uint16(w.in[18:]))
	require.Equal(w, key, string(w.in[:16]))
	flags, private = w.in[16], slices.Clone(w.in[24:length])
	w.in = w.in[length:]
	return flags, private
}

// started waits for an MPA request or reply, or for the end of the connection. It reports whether the frame
// arrived.
func (w *wire) started(key string) bool {
	w.Helper()
	whole := func() bool { return len(w.in) >= 24 && len(w.in) >= 20+int(binary.BigEndian.Uint16(w.in[18:])) }
	w.until(key, func() bool { return whole() || w.eof })
	return whole()
}

// rejection waits for a reject and returns its reason.
func (w *wire) rejection() negotiation.Reason {
	w.Helper()
	flags, private := w.startup(replyKey)
	require.NotZero(w, flags&0x20, "it is accepted")
	require.Len(w, private, negotiation.RejectSize)
	w.until("the end", func() bool { return w.eof })
	return reasonOf(w, private, w.asked, uint32(w.r.number))
}

// ask sends an MPA request. The argument private is the private data of the request.
func (w *wire) ask(private []byte) *wire {
	w.Helper()
	w.asked = private
	w.write(startup(requestKey, private))
	return w
}

// record returns the record of a request in a job of two ranks. The argument from is the rank that requests.
func record(from uint32, incarnation, attempt uint16) []byte {
	c, n := credentials(int(from), 2), request(attempt)
	n.Incarnation = incarnation
	return c.AppendRequest(nil, &n, 1-from)
}

// reply returns an MPA reply with the record of a reply. The argument from is the rank that replies, and asked is the
// request of the other rank.
func reply(from uint32, asked []byte) []byte {
	c, n := credentials(int(from), 2), request(1)
	return startup(replyKey, c.AppendReply(nil, &n, 1-from, asked))
}

// TestFaultRecords is fault 5 of docs/connection-model.md, "Faults and tests": invalid private data of a scripted
// peer. The test checks that the rank rejects and counts each request whose record is cut short or has a changed bit,
// accepts a record with padding, and rejects a replay.
func TestFaultRecords(t *testing.T) {
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, nil)
	good := record(1, 0, 1)
	require.Len(t, good, 56)
	for n := range good {
		w := phone(t, r).ask(good[:n])
		require.Equal(t, negotiation.BadLength, w.rejection(), "%d octets", n)
	}
	for at := range good {
		flipped := slices.Clone(good)
		flipped[at] ^= 1 << (at % 8)
		phone(t, r).ask(flipped).rejection() // the reason depends on the flipped field
	}
	count := r.Strangers()
	require.Equal(t, uint64(2*56), count.Foreign.Load()+count.OtherJob.Load()+count.Unproved.Load()+count.Misplaced.Load())

	attempt := uint16(1)
	for _, n := range []int{56, 60, 196, 251} {
		for _, fill := range []byte{0, 0xA5} {
			padded := record(1, 0, attempt)
			for len(padded) < n {
				padded = append(padded, fill)
			}
			attempt++
			w := phone(t, r).ask(padded)
			flags, _ := w.startup(replyKey)
			require.Zero(t, flags&0x20, "padded with %x to %d octets", fill, n)
		}
	}
	require.Equal(t, negotiation.Duplicate, phone(t, r).ask(record(1, 0, attempt-1)).rejection(), "replayed")
	require.NoError(t, r.Close())
}

// pair is a rank and a scripted peer. The peer plays the other rank and listens at an address of its own.
type pair struct {
	*testing.T
	r        *rank
	listener *net.TCPListener
}

// newPair returns a pair of a rank and a scripted peer, to which the rank connects. The argument number is the
// number of the rank, 0 or 1. The function change, if not nil, may change the configuration of the rank.
func newPair(t *testing.T, number int, change func(c *rdma.Config)) *pair {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	r, _ := loneAt(t, loopback(iwarp.New(iwarp.Config{}), 2), 2, func(c *rdma.Config) {
		impatient(c)
		c.Rank, c.Attempt, c.RetryMax, c.GiveUp = number, patience, time.Millisecond, 10*patience
		c.Lookup = func(int) ([]rdma.Location, error) {
			return at(l.Addr().(*net.TCPAddr).AddrPort()), nil
		}
		if change != nil {
			change(c)
		}
	})
	require.ErrorIs(t, r.to(1-number).Send(transport.Header{}, nil), transport.ErrAgain)
	r.number = number
	return &pair{t, r, l}
}

// dialled waits until the rank has asked for a connection. It returns the connection and the request.
func (p *pair) dialled() (*wire, []byte) {
	p.Helper()
	for deadline := time.Now().Add(patience); ; {
		p.r.poll()
		require.False(p, time.Now().After(deadline), "the rank does not dial")
		require.NoError(p, p.listener.SetDeadline(time.Now().Add(time.Millisecond)))
		c, err := p.listener.Accept()
		if err != nil {
			continue
		}
		p.Cleanup(func() { _ = c.Close() })
		w := &wire{TB: p.T, r: p.r, conn: c}
		if w.started(requestKey) { // otherwise the rank gave up before the peer read the request
			_, private := w.startup(requestKey)
			return w, private
		}
	}
}

// pump polls the rank until done returns true.
func (p *pair) pump(what string, done func() bool) {
	p.Helper()
	pump(p.T, []*rank{p.r}, what, done)
}

// TestFaultSimultaneous is fault 8 of docs/connection-model.md, "Faults and tests": both sides ask for a
// connection at the same time. The test checks that the request of the lower rank wins, even if answers are
// lost.
func TestFaultSimultaneous(t *testing.T) {
	t.Run("the lower rank keeps its own", func(t *testing.T) {
		p := newPair(t, 0, nil)
		mine, asked := p.dialled()
		require.Equal(t, negotiation.Simultaneous, phone(t, p.r).ask(record(1, 0, 1)).rejection())
		require.Zero(t, p.r.Strangers().Repeated.Load()+p.r.Strangers().Declined.Load(), "counted as repeated or declined")
		mine.write(reply(1, asked))
		mine.until("the first message", func() bool { return len(mine.in) > 0 })
		require.NoError(t, p.r.Close())
	})
	t.Run("the higher rank gives way", func(t *testing.T) {
		p := newPair(t, 1, nil)
		its, _ := p.dialled()
		w := phone(t, p.r).ask(record(0, 0, 1))
		flags, _ := w.startup(replyKey)
		require.Zero(t, flags&0x20)
		its.until("its own request is dropped", func() bool { return its.eof })
		require.Empty(t, its.in, "the rank sends nothing before it closes its request")
		// The winning connection ends before its first message, so the other rank asks again.
		require.NoError(t, w.conn.Close())
		again, asked := p.dialled()
		again.write(reply(0, asked))
		again.until("the first message", func() bool { return len(again.in) > 0 })
		require.NoError(t, p.r.Close())
	})
	t.Run("the reject is lost", func(t *testing.T) {
		for _, number := range []int{0, 1} {
			p := newPair(t, number, nil)
			its, first := p.dialled()
			require.NoError(t, its.conn.Close())
			again, second := p.dialled()
			require.Greater(t, binary.BigEndian.Uint16(second[14:]), binary.BigEndian.Uint16(first[14:]), "another attempt")
			// The answer to the first attempt must not be accepted as an answer to the second.
			again.write(reply(uint32(1-number), first))
			again.until("the end", func() bool { return again.eof })
			p.dialled()
			require.NoError(t, p.r.Close())
		}
	})
	t.Run("lives", func(t *testing.T) {
		p := newPair(t, 1, nil)
		p.dialled()
		flags, _ := phone(t, p.r).ask(record(0, 1, 5)).startup(replyKey)
		require.Zero(t, flags&0x20)
		require.Equal(t, negotiation.StaleEpoch, phone(t, p.r).ask(record(0, 0, 9)).rejection(), "an earlier incarnation")
		require.Equal(t, negotiation.Duplicate, phone(t, p.r).ask(record(0, 1, 5)).rejection(), "the same attempt again")
		require.Equal(t, negotiation.Duplicate, phone(t, p.r).ask(record(0, 1, 4)).rejection(), "an earlier attempt")
		flags, _ = phone(t, p.r).ask(record(0, 1, 6)).startup(replyKey)
		require.Zero(t, flags&0x20, "a later attempt")
		require.NoError(t, p.r.Close())
	})
}

// TestFaultCredits is the part of fault 18 of docs/connection-model.md, "Faults and tests", that belongs to this
// package: updates arrive three times, and both sides use up their credits. The test checks that a repeated
// update grants no further credits, and that updates with new credits need no credit themselves.
func TestFaultCredits(t *testing.T) {
	const credits = 8 // the function request asks for this number
	everywhere(t, nil, func(l leaver) {
		send := func() error { return l.r.to(1).Send(transport.Header{}, nil) }
		exhaust := func() {
			l.Helper()
			for n := range credits {
				l.settle(l.r, fmt.Sprint("message ", n), func() bool { return send() == nil })
			}
			for range 100 {
				require.ErrorIs(l, send(), transport.ErrAgain, "more than was granted")
				l.r.poll()
				l.poll()
			}
		}
		for range 3 {
			l.say(frame(word(0, 0, credits, 0), kindUpdate))
		}
		exhaust()
		heard := l.heard
		for n := range uint16(credits) {
			l.settle(l.r, "room", func() bool { l.poll(); return true })
			l.say(frame(word(n, 0, credits, 0), kindEager, message(0, "x")...))
		}
		l.settle(l.r, "the messages", func() bool { return l.r.arrivals == credits })
		l.settle(l.r, "new credits", func() bool { return l.heard > heard })
		for range 3 {
			l.say(frame(word(0, credits, 2*credits, 0), kindUpdate))
		}
		exhaust()
		require.Empty(l, l.r.downs)
	})
}

package iwarp_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestFaultFlippedBits tests fault 10 of docs/connection-model.md, "Faults and tests". The test checks that a
// flipped bit outside the length field is reported as a CRC error, and that nothing is delivered. The cases are
// FPDUs that arrive as a whole, FPDUs that arrive in pieces, and FPDUs with a long payload, whose first bytes
// are placed before the last bytes arrive.
func TestFaultFlippedBits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, c := range map[string]struct {
		payload, step, every int
	}{
		"short, whole":  {21, 1 << 20, 7},
		"short, pieces": {21, 3, 7},
		"long, pieces":  {40_000, 9000, 30_011},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, iwarp.Config{}, 50_000)
			l := s.listen()
			bits := 8 * mpa.FPDULength(ddp.UntaggedLength+c.payload)
			for bit := 16 + random.IntN(c.every); bit < bits; bit += c.every {
				ep := s.endpoint()
				require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{s.region.Segment(0, 50_000)}}))
				p := dial(t, s, l.Address())
				p.open(strangerOffer(), ep)
				b := p.fpdu(message(1, pattern(c.payload, 1)))
				b[bit/8] ^= 1 << (bit % 8)
				for len(b) > 0 {
					n := min(c.step, len(b))
					p.send(b[:n])
					b = b[n:]
					s.poll()
				}
				require.Equal(t, rdmap.CodeOf(mpa.ErrCRC), p.terminated().Code, "bit %d", bit)
				require.Equal(t, verbs.StatusFlushed, s.done(ep, 1).Status)
				e := s.event(ep)
				require.Equal(t, verbs.EventBroken, e.Type)
				require.ErrorIs(t, e.Err, mpa.ErrCRC)
			}
		})
	}
	t.Run("padding need not be zero", func(t *testing.T) {
		s, _, p, ep := meet(t)
		u := message(1, []byte("xyz")) // 2+21 octets, and one of padding
		b := append([]byte{0, byte(len(u))}, u...)
		b = append(b, 0xff)
		crc := mpa.Checksum(0, b)
		p.send(append(b, byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)))
		require.Equal(t, 3, s.done(ep, 0).Length)
	})
}

// TestFaultTruncated tests a part of fault 11. It ends a stream after each octet of an FPDU, one stream per
// octet. An end between two FPDUs is orderly. An end within an FPDU is an error.
func TestFaultTruncated(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	fpdu := mpa.AppendFPDU(nil, message(1, []byte("abc")), true)
	for at := range len(fpdu) + 1 {
		ep := s.endpoint()
		require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{s.region.Segment(0, 64)}}))
		p := dial(t, s, l.Address())
		p.open(strangerOffer(), ep)
		p.send(fpdu[:at])
		require.NoError(t, p.conn.CloseWrite())
		e := s.event(ep)
		c := s.done(ep, 1)
		if at == len(fpdu) {
			require.Equal(t, verbs.StatusSuccess, c.Status)
		} else {
			require.Equal(t, verbs.StatusFlushed, c.Status)
		}
		if at == 0 || at == len(fpdu) {
			require.Equal(t, verbs.EventDisconnected, e.Type)
		} else {
			require.Equal(t, verbs.EventBroken, e.Type, "%d octets", at)
			require.ErrorIs(t, e.Err, iwarp.ErrCut)
		}
	}
}

// TestArbitrarySegmentation sends Writes and Sends of several lengths in pieces of random length. The test checks that
// all bytes arrive in their places.
func TestArbitrarySegmentation(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := newSide(t, iwarp.Config{}, 400_000)
	l := s.listen()
	ep := s.endpoint()
	p := dial(t, s, l.Address())
	p.open(strangerOffer(), ep)
	remote := s.region.Remote(0, 0)
	var stream []byte
	want := make([]byte, 400_000)
	at, msn := 0, uint32(1)
	for at < 200_000 {
		n := []int{1, 17, 300, 5000, 60_000}[random.IntN(5)]
		payload := pattern(n, byte(at))
		if random.IntN(2) == 0 {
			stream = append(stream, p.fpdu(write(remote.RKey, remote.Address+uint64(at), payload))...)
		} else {
			require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: uint64(msn), Segments: []verbs.Segment{s.region.Segment(at, n)}}))
			stream = append(stream, p.fpdu(message(msn, payload))...)
			msn++
		}
		copy(want[at:], payload)
		at += n
	}
	require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1000}))
	stream = append(stream, p.fpdu(message(msn, nil))...)
	for len(stream) > 0 {
		n := min(len(stream), 1+random.IntN([]int{3, 100, 3000, 40_000}[random.IntN(4)]))
		p.send(stream[:n])
		stream = stream[n:]
		s.poll()
	}
	s.done(ep, 1000)
	require.Equal(t, want[:at], s.memory[:at])
	for id := range uint64(msn - 1) {
		require.Equal(t, verbs.StatusSuccess, s.done(ep, id+1).Status)
	}
	require.NotZero(t, s.provider.Counters().BytesPlaced.Load())
}

// TestSequenceNumbersWrap tests a part of fault 14: the message sequence number of Sends wraps around.
func TestSequenceNumbersWrap(t *testing.T) {
	spied := &spy{Provider: iwarp.New(iwarp.Config{})}
	adapter, err := verbs.Open(spied, loopback)
	require.NoError(t, err)
	s := wrap(t, adapter, 64)
	x, y := join(t, s, s)
	for _, ep := range []*verbs.Endpoint{x, y} {
		i, err := ep.Query()
		require.NoError(t, err)
		iwarp.PresetMSN(spied.devices[0], i.Local, math.MaxUint32-1)
	}
	for id := range uint64(4) {
		require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: id}))
		require.NoError(t, x.Post(&verbs.WorkRequest{ID: id, Op: verbs.OpSend}))
		require.Equal(t, verbs.StatusSuccess, s.done(y, id).Status)
	}
}

// TestFaultReadResponses tests fault 15 on the side that has posted the Read: Read Responses that do not fit the
// request, and responses that fit although a Write arrives between them.
func TestFaultReadResponses(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers func(r rdmap.ReadRequest) [][]byte
		want    error
	}{
		{"wrong STag", func(r rdmap.ReadRequest) [][]byte {
			return [][]byte{response(r.SinkSTag+1, r.SinkTO, make([]byte, 50))}
		}, ddp.ErrSTag},
		{"wrong offset", func(r rdmap.ReadRequest) [][]byte {
			return [][]byte{response(r.SinkSTag, r.SinkTO+1, make([]byte, 50))}
		}, ddp.ErrBounds},
		{"too long", func(r rdmap.ReadRequest) [][]byte {
			return [][]byte{response(r.SinkSTag, r.SinkTO, make([]byte, 51))}
		}, ddp.ErrBounds},
		{"too short", func(r rdmap.ReadRequest) [][]byte {
			return [][]byte{response(r.SinkSTag, r.SinkTO, make([]byte, 49))}
		}, rdmap.ErrRemoteOperation},
		{"twice", func(r rdmap.ReadRequest) [][]byte {
			b := response(r.SinkSTag, r.SinkTO, make([]byte, 50))
			return [][]byte{b, b}
		}, rdmap.ErrOpcode},
		{"mixed with a Write", func(r rdmap.ReadRequest) [][]byte {
			return [][]byte{
				tagged(ddp.Tagged{Control: 0x42, STag: r.SinkSTag, TO: r.SinkTO}, make([]byte, 20)),
				write(1, 0, nil),
				response(r.SinkSTag, r.SinkTO+20, make([]byte, 30)),
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m, p, ep := meet(t)
			remote := m.region.Remote(0, 0)
			require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 7, Op: verbs.OpRead, Segments: []verbs.Segment{s.region.Segment(0, 50)}, RemoteAddress: remote.Address, RKey: remote.RKey}))
			u := p.ulpdu()
			r, err := rdmap.ParseReadRequest(u[ddp.UntaggedLength:])
			require.NoError(t, err)
			require.Equal(t, uint32(50), r.Size)
			for _, b := range c.answers(r) {
				p.send(p.fpdu(b))
			}
			if c.want == nil {
				require.Equal(t, verbs.StatusSuccess, s.done(ep, 7).Status)
				return
			}
			require.Equal(t, rdmap.CodeOf(c.want), p.terminated().Code)
			require.ErrorIs(t, s.event(ep).Err, c.want)
			s.done(ep, 7)
		})
	}
}

// TestFaultTerminates tests fault 17: the effect of a Terminate of the peer, which may be malformed.
func TestFaultTerminates(t *testing.T) {
	terminate := func(body ...byte) []byte {
		return untagged(ddp.Untagged{Last: true, Control: 0x47, QN: 2, MSN: 1}, body)
	}
	for _, c := range []struct {
		name string
		sent [][]byte
		want error
	}{
		{"bare", [][]byte{terminate(0x20, 2, 0, 0)}, mpa.ErrCRC},
		{"with a header", [][]byte{terminate(append([]byte{0x12, 2, 0xc0, 0, 0, 18}, message(1, nil)...)...)}, ddp.ErrNoBuffer},
		{"of siw", [][]byte{terminate(append([]byte{0x21, 2, 3, 0, 0, 18}, message(1, nil)...)...)}, ddp.ErrNoBuffer},
		{"with its header cut", [][]byte{terminate(0x12, 2, 0xc0, 0, 0, 18, 0x41)}, ddp.ErrNoBuffer},
		{"twice", [][]byte{terminate(0x20, 2, 0, 0), terminate(0x20, 3, 0, 0)}, mpa.ErrCRC},
		{"with data behind it", [][]byte{terminate(0x20, 2, 0, 0), message(1, []byte("more"))}, mpa.ErrCRC},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, p, ep := meet(t)
			var all []byte
			for _, u := range c.sent {
				all = append(all, p.fpdu(u)...)
			}
			p.send(all)
			e := s.event(ep)
			require.Equal(t, verbs.EventBroken, e.Type)
			require.ErrorIs(t, e.Err, c.want)
			var remote *rdmap.RemoteError
			require.ErrorAs(t, e.Err, &remote)
			for id := range uint64(2) {
				require.Equal(t, verbs.StatusFlushed, s.done(ep, id).Status, "nothing is delivered after the Terminate")
			}
			p.pump(func() bool { p.take(); return p.eof })
			require.Empty(t, p.in, "it is not answered")
		})
	}
	t.Run("cut within its code", func(t *testing.T) {
		s, _, p, ep := meet(t)
		p.send(p.fpdu(terminate(0x20, 2)))
		require.ErrorIs(t, s.event(ep).Err, rdmap.ErrShort)
	})
	t.Run("of a read", func(t *testing.T) {
		a, b := newSide(t, iwarp.Config{}, 4096), newSide(t, iwarp.Config{}, 4096)
		x, y := join(t, a, b)
		require.NoError(t, x.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpRead, Segments: []verbs.Segment{a.region.Segment(0, 8)}, RKey: 0xdeadbeef}))
		require.Equal(t, verbs.StatusRemoteAccess, a.done(x, 1, b).Status)
		require.ErrorIs(t, a.event(x, b).Err, rdmap.ErrSTag)
		require.ErrorIs(t, b.event(y, a).Err, rdmap.ErrSTag)
	})
}

// TestMemoryGoesDuringATransfer tests a part of fault 13: a region is closed during a Write into it, or during a
// Read of it.
func TestMemoryGoesDuringATransfer(t *testing.T) {
	t.Run("Write", func(t *testing.T) {
		s, _, p, ep := meet(t)
		memory := make([]byte, 60_000)
		r, err := s.domain.Register(memory, allRights)
		require.NoError(t, err)
		b := p.fpdu(write(r.LKey(), r.Remote(0, 0).Address, pattern(60_000, 1)))
		p.send(b[:30_000])
		p.pump(func() bool { return memory[29_000] != 0 })
		require.NoError(t, r.Close())
		kept := append([]byte(nil), memory...)
		p.send(b[30_000:])
		require.Equal(t, rdmap.CodeOf(ddp.ErrSTag), p.terminated().Code)
		require.ErrorIs(t, s.event(ep).Err, ddp.ErrSTag)
		require.Equal(t, kept, memory, "it has not changed since")
	})
	t.Run("Read", func(t *testing.T) {
		const size = 16 << 20 // more than the buffers of a socket hold
		s, _, p, ep := meet(t)
		memory := pattern(size, 3)
		was := slices.Clone(memory)
		r, err := s.domain.Register(memory, allRights)
		require.NoError(t, err)
		p.send(p.fpdu(readRequest(1, rdmap.ReadRequest{SinkSTag: 1, Size: size, SourceSTag: r.LKey(), SourceTO: r.Remote(0, 0).Address})))
		p.pump(func() bool { return s.provider.Counters().Writes.Load() > 2 && s.poll() == 0 })
		require.NoError(t, r.Close())
		clear(memory) // the device has copied the segment that is partly written
		at := 0
		for {
			u := p.ulpdu()
			if u[0]&0x80 == 0 {
				m, err := rdmap.ParseTerminate(u[ddp.UntaggedLength:])
				require.NoError(t, err)
				require.Equal(t, rdmap.CodeOf(rdmap.ErrSTag), m.Code)
				require.Len(t, m.Read, rdmap.ReadRequestLength)
				break
			}
			n := len(u) - ddp.TaggedLength
			require.True(t, bytes.Equal(was[at:at+n], u[ddp.TaggedLength:]), "%d bytes at %d", n, at)
			at += n
		}
		require.Less(t, at, size)
		require.ErrorIs(t, s.event(ep).Err, rdmap.ErrSTag)
	})
}

// TestInvalidate tests the permitted case of fault 16: a Send invalidates an STag of the receiver.
func TestInvalidate(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	x, y := join(t, a, b)
	remote := b.region.Remote(0, 64)
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	require.NoError(t, x.Post(&verbs.WorkRequest{Op: verbs.OpSend, Flags: verbs.FlagInvalidate | verbs.FlagSolicited, Invalidate: remote.RKey}))
	c := b.done(y, 1, a)
	require.Equal(t, verbs.FlagInvalidate|verbs.FlagSolicited, c.Flags)
	require.Equal(t, b.region.LKey(), c.Invalidated)
	require.NoError(t, x.Post(&verbs.WorkRequest{Op: verbs.OpWrite, Segments: []verbs.Segment{a.region.Segment(0, 1)}, RKey: remote.RKey, RemoteAddress: remote.Address}))
	require.ErrorIs(t, b.event(y, a).Err, ddp.ErrSTag)
}

// TestStalledPeer tests fault 20: a peer that reads nothing stalls only its own connection, and all messages
// arrive when it reads again.
func TestStalledPeer(t *testing.T) {
	s, _, p, ep := meet(t)
	const part, parts = 1 << 20, 12
	memory := pattern(part, 1)
	r, err := s.domain.Register(memory, 0)
	require.NoError(t, err)
	for id := range uint64(parts) {
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 100 + id, Op: verbs.OpSend, Segments: []verbs.Segment{r.Segment(0, part)}}))
	}
	x, y := join(t, s, s)
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 90}))
	require.NoError(t, x.Post(&verbs.WorkRequest{ID: 91, Op: verbs.OpSend}))
	s.done(y, 90)
	for msn := uint32(1); msn <= parts; msn++ {
		for at := 0; at < part; {
			u := p.ulpdu()
			h, err := ddp.ParseUntagged(u)
			require.NoError(t, err)
			require.Equal(t, msn, h.MSN)
			require.Equal(t, at, int(h.MO))
			require.Equal(t, memory[at:at+len(u)-ddp.UntaggedLength], u[ddp.UntaggedLength:])
			at += len(u) - ddp.UntaggedLength
			require.Equal(t, at == part, h.Last)
		}
	}
	for id := range uint64(parts) {
		require.Equal(t, verbs.StatusSuccess, s.done(ep, 100+id).Status)
	}
}

// TestGracefulEnd checks what a graceful Disconnect writes: the posted messages, and then the end of the stream.
// If the peer does not end its stream, too, the endpoint reports an error after CloseTimeout.
func TestGracefulEnd(t *testing.T) {
	s := newSide(t, iwarp.Config{CloseTimeout: 50 * time.Millisecond}, 64)
	l := s.listen()
	for _, answers := range []bool{true, false} {
		p := dial(t, s, l.Address())
		ep := s.endpoint()
		p.open(strangerOffer(), ep)
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend}))
		require.NoError(t, ep.Disconnect(verbs.CloseGraceful))
		require.Equal(t, message(1, nil), p.ulpdu())
		p.ended()
		require.NoError(t, p.err)
		if answers {
			require.NoError(t, p.conn.CloseWrite())
		}
		e := s.event(ep)
		if answers {
			require.Equal(t, verbs.EventDisconnected, e.Type)
		} else {
			require.ErrorIs(t, e.Err, iwarp.ErrNotClosed)
		}
	}
}

package iwarp_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// hasty is a configuration with short deadlines.
func hasty() iwarp.Config {
	return iwarp.Config{RequestTimeout: 30 * time.Millisecond, ReplyTimeout: 30 * time.Millisecond, CloseTimeout: 30 * time.Millisecond, Pause: time.Hour}
}

// TestFaultConnect is item 1.
func TestFaultConnect(t *testing.T) {
	s := newSide(t, hasty(), 64)
	try := func(t *testing.T, to netip.AddrPort, timeout time.Duration, want verbs.EventType, cause error) {
		t.Helper()
		ep := s.endpoint()
		require.NoError(t, ep.Connect(to, verbs.ConnectOptions{Timeout: timeout}))
		e := s.event(ep)
		require.Equal(t, want, e.Type, "%v", e.Err)
		if cause != nil {
			require.ErrorIs(t, e.Err, cause)
		}
	}
	t.Run("refused", func(t *testing.T) {
		l := s.listen()
		require.NoError(t, l.Close())
		try(t, l.Address(), time.Minute, verbs.EventNonPeerRejected, unix.ECONNREFUSED)
	})
	t.Run("unreachable", func(t *testing.T) {
		try(t, netip.MustParseAddrPort("198.51.100.1:1"), time.Minute, verbs.EventUnreachable, nil)
	})
	t.Run("black hole", func(t *testing.T) {
		try(t, silence(t, netip.MustParseAddr(loopback)), 20*time.Millisecond, verbs.EventUnreachable, nil)
	})
	t.Run("taken and not answered", func(t *testing.T) {
		_, at := host(t)
		try(t, at, time.Minute, verbs.EventTimedOut, iwarp.ErrNoReply)
	})
	t.Run("another family than the adapter's", func(t *testing.T) {
		err := s.endpoint().Connect(netip.MustParseAddrPort("[::1]:1"), connectOptions(nil))
		require.ErrorIs(t, err, verbs.ErrInvalidAddress)
	})
}

// TestFaultSlowRequest is item 2 on the passive side.
func TestFaultSlowRequest(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		s := newSide(t, hasty(), 64)
		p := dial(t, s, s.listen().Address())
		p.ended()
		require.Equal(t, uint64(1), s.provider.Counters().Late.Load())
	})
	t.Run("silent after a part", func(t *testing.T) {
		s := newSide(t, hasty(), 64)
		p := dial(t, s, s.listen().Address())
		p.send([]byte("MPA ID Req"))
		p.ended()
		require.Equal(t, uint64(1), s.provider.Counters().Late.Load())
	})
	t.Run("split at every octet", func(t *testing.T) {
		s := newSide(t, iwarp.Config{}, 64)
		l := s.listen()
		f, err := strangerOffer().Request([]byte("private"))
		require.NoError(t, err)
		b := f.Append(nil)
		for at := range len(b) + 1 {
			p := dial(t, s, l.Address())
			p.send(b[:at])
			s.poll()
			p.send(b[at:])
			r := s.request()
			info, err := r.Query()
			require.NoError(t, err)
			require.Equal(t, "private", string(info.Param.PrivateData))
			require.Equal(t, []int{4, 4}, []int{info.Param.ResponderResources, info.Param.InitiatorDepth})
			require.NoError(t, r.Reject(nil))
			require.True(t, p.frame().Reject)
			p.ended()
		}
	})
	t.Run("octet by octet", func(t *testing.T) {
		s := newSide(t, iwarp.Config{}, 64)
		p := dial(t, s, s.listen().Address())
		f, err := strangerOffer().Request(nil)
		require.NoError(t, err)
		for _, b := range f.Append(nil) {
			p.send([]byte{b})
			s.poll()
		}
		s.request()
	})
	t.Run("the oldest give way", func(t *testing.T) {
		s := newSide(t, iwarp.Config{HalfOpenMax: 3}, 64)
		l := s.listen()
		peers := make([]*peer, 5)
		for i := range peers {
			peers[i] = dial(t, s, l.Address())
			peers[i].send([]byte("MPA"))
			s.poll()
		}
		peers[0].ended()
		peers[1].ended()
		require.Equal(t, uint64(2), s.provider.Counters().Crowded.Load())
	})
}

// TestFaultBadRequest is item 3 on the passive side: every stranger is dropped
// without a word, and the listener goes on.
func TestFaultBadRequest(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	enhanced := func(n int) []byte {
		return mpa.Frame{Revision: 2, Enhanced: true, PrivateData: make([]byte, n)}.Append(nil)
	}
	cases := map[string][]byte{
		"a bad key":           []byte("MPA ID Rex Frame....."),
		"HTTP":                []byte("GET / HTTP/1.1\r\n\r\n"),
		"a reply":             mpa.Frame{Reply: true, Revision: 2}.Append(nil),
		"revision 0":          mpa.Frame{}.Append(nil),
		"revision 3":          mpa.Frame{Revision: 3}.Append(nil),
		"length 513":          append(mpa.Frame{Revision: 1}.Append(nil)[:18], 2, 1),
		"length 65535":        append(mpa.Frame{Revision: 1}.Append(nil)[:18], 255, 255),
		"enhanced by 0 bytes": enhanced(0),
		"enhanced by 1 byte":  enhanced(1),
		"enhanced by 2 bytes": enhanced(2),
		"enhanced by 3 bytes": enhanced(3),
	}
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			before := s.provider.Counters().Strangers.Load()
			p := dial(t, s, l.Address())
			p.send(b)
			p.ended()
			require.Equal(t, before+1, s.provider.Counters().Strangers.Load())
		})
	}
	t.Run("private data cut short by the end", func(t *testing.T) {
		p := dial(t, s, l.Address())
		p.send(mpa.Frame{Revision: 1, PrivateData: make([]byte, 100)}.Append(nil)[:50])
		require.NoError(t, p.conn.CloseWrite())
		p.ended()
	})
	t.Run("markers are refused with a reply", func(t *testing.T) {
		p := dial(t, s, l.Address())
		p.send(mpa.Frame{Revision: 2, Markers: true, Enhanced: true, PrivateData: make([]byte, 4)}.Append(nil))
		f := p.frame()
		require.True(t, f.Reject)
		require.False(t, f.Markers)
		p.ended()
	})
	t.Run("after all that", func(t *testing.T) {
		require.Empty(t, s.log, "no consumer has seen anything of it")
		dial(t, s, l.Address()).open(strangerOffer(), s.endpoint())
	})
}

// replyCase is what a peer answers to a request, and what becomes of the attempt.
type replyCase struct {
	name  string
	reply func(p *peer)
	want  verbs.EventType
	cause error
	// code is that of the Terminate which the peer gets, or nil for none.
	code error
}

// answer sends an enhanced reply with those words.
func answer(words ...byte) func(*peer) {
	return func(p *peer) {
		p.send(mpa.Frame{Reply: true, CRC: true, Revision: 2, Enhanced: true, PrivateData: words}.Append(nil))
	}
}

var replyCases = []replyCase{
	{"3 a bad key", func(p *peer) { p.send([]byte("SSH-2.0-OpenSSH\r\n")) }, verbs.EventNonPeerRejected, mpa.ErrKey, nil},
	{"3 a request in its place", func(p *peer) { p.send(mpa.Frame{Revision: 2}.Append(nil)) }, verbs.EventNonPeerRejected, mpa.ErrActiveActive, mpa.ErrFrame},
	{"3 revision 3", func(p *peer) { p.send(mpa.Frame{Reply: true, Revision: 3}.Append(nil)) }, verbs.EventNonPeerRejected, mpa.ErrRevision, mpa.ErrFrame},
	{"3 a plain reply to an enhanced request", func(p *peer) { p.send(mpa.Frame{Reply: true, Revision: 1}.Append(nil)) }, verbs.EventNonPeerRejected, mpa.ErrEnhanced, mpa.ErrFrame},
	{"3 markers", func(p *peer) {
		p.send(mpa.Frame{Reply: true, Markers: true, Revision: 2, Enhanced: true, PrivateData: make([]byte, 4)}.Append(nil))
	}, verbs.EventNonPeerRejected, mpa.ErrMarkers, mpa.ErrFrame},
	{"3 private data too long", func(p *peer) {
		p.send(append(mpa.Frame{Reply: true, Revision: 2}.Append(nil)[:18], 2, 1))
	}, verbs.EventNonPeerRejected, mpa.ErrPrivateData, nil},
	{"3 cut short by the end", func(p *peer) {
		p.send([]byte("MPA ID Rep"))
		_ = p.conn.CloseWrite()
	}, verbs.EventNonPeerRejected, iwarp.ErrHungUp, nil},
	{"4 reject", func(p *peer) { p.send(mpa.Frame{Reply: true, Reject: true, Revision: 2}.Append(nil)) }, verbs.EventPeerRejected, nil, nil},
	{"4 reject with data", func(p *peer) {
		p.send(mpa.Frame{Reply: true, Reject: true, Enhanced: true, Revision: 2, PrivateData: append(make([]byte, 4), "go away"...)}.Append(nil))
	}, verbs.EventPeerRejected, nil, nil},
	{"4 reject, then reset", func(p *peer) {
		p.send(mpa.Frame{Reply: true, Reject: true, Revision: 2}.Append(nil))
		_ = p.conn.SetLinger(0)
	}, verbs.EventPeerRejected, nil, nil},
	{"4 reset in place of a reject", func(p *peer) {
		_ = p.conn.SetLinger(0)
		_ = p.conn.Close()
	}, verbs.EventNonPeerRejected, unix.ECONNRESET, nil},
	{"4 end in place of a reject", func(p *peer) { _ = p.conn.CloseWrite() }, verbs.EventNonPeerRejected, iwarp.ErrHungUp, nil},
	{"6 more ORD than our IRD", answer(0x80, 16, 0x80, 17), verbs.EventNonPeerRejected, verbs.ErrDepthRefused, mpa.ErrInsufficient},
	{"6 no RTR in common", answer(0xc0, 16, 0x00, 16), verbs.EventNonPeerRejected, mpa.ErrRTR, mpa.ErrRTR},
}

// TestFaultBadReply is items 3, 4 and 6 on the active side.
func TestFaultBadReply(t *testing.T) {
	for _, c := range replyCases {
		t.Run(c.name, func(t *testing.T) {
			s := newSide(t, iwarp.Config{}, 64)
			l, at := host(t)
			ep := s.endpoint()
			require.NoError(t, ep.Connect(at, connectOptions(nil)))
			p := pick(t, s, l)
			p.frame()
			c.reply(p)
			e := s.event(ep)
			require.Equal(t, c.want, e.Type, "%v", e.Err)
			if c.cause != nil {
				require.ErrorIs(t, e.Err, c.cause)
			}
			if c.name == "4 reject with data" {
				require.Equal(t, "go away", string(e.PrivateData))
			}
			if c.code != nil {
				require.Equal(t, rdmap.CodeOf(c.code), p.terminated().Code)
			}
		})
	}
}

// TestFaultPrivateData is item 5 as far as it is the provider's: every length
// arrives as it was sent, both ways.
func TestFaultPrivateData(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	l := b.listen()
	for _, n := range []int{0, 1, 2, 55, 56, 60, 196, 251, 252} {
		private := pattern(n, byte(n))
		param := &verbs.ConnParam{PrivateData: private, ResponderResources: 1, InitiatorDepth: 1}
		x, y := a.endpoint(), b.endpoint()
		require.NoError(t, x.Connect(l.Address(), connectOptions(param)))
		r := b.request(a)
		info, err := r.Query()
		require.NoError(t, err)
		require.True(t, bytes.Equal(private, info.Param.PrivateData))
		require.NoError(t, r.Accept(y, param))
		require.True(t, bytes.Equal(private, a.event(x, b).PrivateData))
	}
	require.ErrorIs(t, a.endpoint().Connect(l.Address(), connectOptions(&verbs.ConnParam{PrivateData: make([]byte, 253)})), verbs.ErrInvalidParameter)
}

// TestFaultDepths is item 6: the depths that both ends report.
func TestFaultDepths(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   []byte
		in, out int // of our side, which asks for 16 and 16
	}{
		{"equal", []byte{0x80, 16, 0x80, 16}, 16, 16},
		{"zero", []byte{0x80, 0, 0x80, 0}, 16, 0},
		{"lower", []byte{0x80, 3, 0x80, 2}, 16, 3},
		{"more than asked for", []byte{0x80, 254, 0x80, 1}, 16, 16},
		{"unstated", []byte{0xbf, 0xff, 0xbf, 0xff}, 16, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSide(t, hasty(), 64)
			l, at := host(t)
			ep := s.endpoint()
			require.NoError(t, ep.Connect(at, connectOptions(nil)))
			p := pick(t, s, l)
			p.frame()
			answer(c.reply...)(p)
			e := s.event(ep)
			require.Equal(t, verbs.EventEstablished, e.Type, "%v", e.Err)
			require.Equal(t, []int{c.in, c.out}, []int{e.ResponderResources, e.InitiatorDepth})
			require.Equal(t, write(1, 0, nil), p.ulpdu(), "the RTR comes first")
		})
	}
}

// TestFaultCRC is item 7: all four combinations, and data that pass.
func TestFaultCRC(t *testing.T) {
	for _, active := range []bool{false, true} {
		for _, passive := range []bool{false, true} {
			a, b := newSide(t, iwarp.Config{NoCRC: !active}, 64), newSide(t, iwarp.Config{NoCRC: !passive}, 64)
			x, y := join(t, a, b)
			require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{b.region.Segment(0, 64)}}))
			require.NoError(t, x.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Segments: []verbs.Segment{a.region.Segment(0, 9)}}))
			require.Equal(t, verbs.StatusSuccess, b.done(y, 1, a).Status)
		}
	}
	t.Run("a peer that answers 0 to our 1", func(t *testing.T) {
		s := newSide(t, hasty(), 64)
		l, at := host(t)
		ep := s.endpoint()
		require.NoError(t, ep.Connect(at, connectOptions(nil)))
		p := pick(t, s, l)
		require.True(t, p.frame().CRC)
		p.send(mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: []byte{0x80, 1, 0x80, 1}}.Append(nil))
		require.Equal(t, write(1, 0, nil), p.ulpdu(), "with its CRC")
		p.crc = false
		p.send(p.fpdu(message(1, nil)))
		p.crc = true
		require.Equal(t, rdmap.CodeOf(mpa.ErrCRC), p.terminated().Code)
	})
}

// TestPassiveIsSilentUntilTheFirstMessage is what RFC 5044 section 7.1.2 rule 4 asks
// of us, with a peer of revision 1, which sends no RTR.
func TestPassiveIsSilentUntilTheFirstMessage(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	p := dial(t, s, s.listen().Address())
	plain := mpa.Offer{Revision: 1, CRC: true}
	f, err := plain.Request(nil)
	require.NoError(t, err)
	p.send(f.Append(nil))
	ep := s.endpoint()
	require.NoError(t, s.request().Accept(ep, nil))
	require.Equal(t, uint8(1), p.frame().Revision)
	require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
	require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend}))
	for range 20 {
		s.poll()
		p.take()
	}
	require.Empty(t, p.in)
	p.send(p.fpdu(message(1, nil)))
	require.Equal(t, message(1, nil), p.ulpdu())
	require.Equal(t, verbs.StatusSuccess, s.done(ep, 1).Status)
	require.Equal(t, verbs.StatusSuccess, s.done(ep, 2).Status)
}

// TestRTRs lets a peer announce itself in each of the three ways.
func TestRTRs(t *testing.T) {
	for name, c := range map[string]struct {
		rtr   mpa.RTR
		ulpdu []byte
		next  uint32 // MSN of the next Send
	}{
		"Write": {mpa.RTRWrite, write(1, 0, nil), 1},
		"Read":  {mpa.RTRRead, readRequest(1, rdmap.ReadRequest{SinkSTag: 1, SourceSTag: 1}), 1},
		"Send":  {mpa.RTRSend, message(1, nil), 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, iwarp.Config{}, 64)
			p := dial(t, s, s.listen().Address())
			o := strangerOffer()
			o.RTR = c.rtr
			f, err := o.Request(nil)
			require.NoError(t, err)
			p.send(f.Append(nil))
			ep := s.endpoint()
			require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{s.region.Segment(0, 64)}}))
			require.NoError(t, s.request().Accept(ep, nil))
			a, err := o.Conclude(p.frame())
			require.NoError(t, err)
			require.Equal(t, c.rtr, a.RTR)
			for range 20 {
				s.poll()
			}
			require.Empty(t, s.log, "without the RTR the connection does not stand")
			p.send(p.fpdu(c.ulpdu))
			require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
			p.send(p.fpdu(message(c.next, []byte("hello"))))
			require.Equal(t, 5, s.done(ep, 1).Length, "the RTR has taken no receive")
		})
	}
	t.Run("Read, ours", func(t *testing.T) {
		s := newSide(t, hasty(), 64)
		l, at := host(t)
		ep := s.endpoint()
		require.NoError(t, ep.Connect(at, connectOptions(nil)))
		p := pick(t, s, l)
		p.frame()
		answer(0x80, 16, 0x40, 16)(p)
		require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend}))
		require.Equal(t, readRequest(1, rdmap.ReadRequest{SinkSTag: 1, SourceSTag: 1}), p.ulpdu())
		p.send(p.fpdu(response(1, 0, nil)))
		require.Equal(t, message(1, nil), p.ulpdu())
	})
}

// introduce connects an endpoint to a scripted peer, which answers with revision 2, four Reads
// each way and these flags, and a Write as RTR where it was offered.
func introduce(t *testing.T, s *side, flags verbs.ConnectFlags, kin bool) (*verbs.Endpoint, *peer, mpa.Frame) {
	t.Helper()
	l, at := host(t)
	ep := s.endpoint()
	o := connectOptions(nil)
	o.Flags = flags
	require.NoError(t, ep.Connect(at, o))
	p := pick(t, s, l)
	asked := p.frame()
	p.send(mpa.Frame{Reply: true, CRC: true, Kin: kin, Revision: 2, Enhanced: true, PrivateData: []byte{0x80, 4, 0x80, 4}}.Append(nil))
	require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
	return ep, p, asked
}

// TestReservedBitsAreZero: only a peer that the consumer knows to be of this provider is
// asked for what only this provider knows.
func TestReservedBitsAreZero(t *testing.T) {
	for flags, want := range map[verbs.ConnectFlags]bool{verbs.ConnectDefault: false, verbs.ConnectSameProvider: true} {
		_, _, asked := introduce(t, newSide(t, hasty(), 64), flags, false)
		require.Equal(t, want, asked.Kin)
		const reserved = 0x0f // RFC 5044 section 7.1.1
		require.Equal(t, want, asked.Append(nil)[16]&reserved != 0)
	}
}

// TestSilentPeersAreNudged: a peer of another kind that says nothing after a connect is
// sent an empty Write three times, nobody else is. The connection is used at once.
func TestSilentPeersAreNudged(t *testing.T) {
	nudge := write(1, 0, nil)
	quick := iwarp.Config{Pause: time.Millisecond}
	t.Run("silent", func(t *testing.T) {
		s := newSide(t, quick, 64)
		_, p, _ := introduce(t, s, 0, false)
		for range 1 + 3 {
			require.Equal(t, nudge, p.ulpdu())
		}
		for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); {
			s.poll()
			p.take()
		}
		require.Empty(t, p.in)
	})
	for name, c := range map[string]struct {
		kin    bool
		config iwarp.Config
		speaks bool
	}{
		"of this provider": {kin: true, config: quick},
		"later":            {config: iwarp.Config{Pause: time.Hour}},
		"has spoken":       {config: iwarp.Config{Pause: 200 * time.Millisecond}, speaks: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, c.config, 64)
			ep, p, _ := introduce(t, s, verbs.ConnectSameProvider, c.kin)
			if c.speaks {
				require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 2}))
				p.send(p.fpdu(message(1, nil)))
				s.done(ep, 2)
			}
			require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend}))
			require.Equal(t, nudge, p.ulpdu(), "the RTR, at once")
			require.Equal(t, message(1, nil), p.ulpdu(), "and what was posted")
			for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
				s.poll()
				p.take()
			}
			require.Empty(t, p.in)
		})
	}
}

// TestPassiveSideSpeaksFirst: a peer that connects without an RTR and is silent is sent
// what is posted after the pause if it knows revision 2, and else the log says what is
// waited for.
func TestPassiveSideSpeaksFirst(t *testing.T) {
	for _, revision := range []uint8{1, 2} {
		lines := make(chan string, 9)
		s := newSide(t, iwarp.Config{Pause: time.Millisecond, Log: func(line string) { lines <- line }}, 64)
		p := dial(t, s, s.listen().Address())
		o := strangerOffer()
		o.Revision, o.PeerToPeer, o.RTR = revision, false, 0
		f, err := o.Request(nil)
		require.NoError(t, err)
		p.send(f.Append(nil))
		ep := s.endpoint()
		require.NoError(t, s.request().Accept(ep, nil))
		p.frame()
		require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend}))
		if revision == 2 {
			require.Equal(t, message(1, nil), p.ulpdu())
			require.Empty(t, lines)
			continue
		}
		p.pump(func() bool { return len(lines) > 0 })
		require.Equal(t, "iwarp: messages to "+p.conn.LocalAddr().String()+" wait: it has connected with MPA revision 1, where it has to send first, and is silent", <-lines)
		require.Empty(t, p.in)
		p.send(p.fpdu(write(1, 0, nil)))
		require.Equal(t, message(1, nil), p.ulpdu())
		require.Empty(t, lines)
	}
}

// TestReadRTRCanBeChosen has a connect offer a Read alone.
func TestReadRTRCanBeChosen(t *testing.T) {
	for read, want := range map[bool][]byte{false: {0x80, 16, 0xc0, 16}, true: {0x80, 16, 0x40, 16}} {
		s := newSide(t, iwarp.Config{ReadRTR: read, Pause: time.Hour}, 64)
		l, at := host(t)
		require.NoError(t, s.endpoint().Connect(at, connectOptions(nil)))
		require.Equal(t, want, pick(t, s, l).frame().PrivateData)
	}
}

// TestPrivateDataFitsLinux: what is sent is what Linux takes, and what comes is taken up
// to what MPA has.
func TestPrivateDataFitsLinux(t *testing.T) {
	s := newSide(t, hasty(), 64)
	a := s.adapter.Attributes()
	require.Equal(t, []int{252, 252, 252}, []int{a.MaxRequestData, a.MaxAcceptData, a.MaxRejectData})
	l := s.listen()
	err := s.endpoint().Connect(l.Address(), connectOptions(&verbs.ConnParam{PrivateData: make([]byte, 253)}))
	require.ErrorIs(t, err, verbs.ErrInvalidParameter)
	require.ErrorContains(t, err, "private data of 253 bytes, of which the transport carries 252")
	p := dial(t, s, l.Address())
	long := pattern(508, 1)
	f, err := strangerOffer().Request(long)
	require.NoError(t, err)
	p.send(f.Append(nil))
	request := s.request()
	info, err := request.Query()
	require.NoError(t, err)
	require.Equal(t, long, info.Param.PrivateData)
	require.ErrorContains(t, request.Accept(s.endpoint(), &verbs.ConnParam{PrivateData: long}), "508 bytes")
	require.ErrorContains(t, request.Reject(long), "508 bytes")
	require.NoError(t, request.Reject(long[:252]))
	reply := p.frame()
	require.True(t, reply.Reject)
	_, private, err := reply.Split()
	require.NoError(t, err)
	require.Equal(t, long[:252], private)
}

// TestSegmentsFitStrangers checks that FPDUs to a peer with another implementation fit into
// TCP's segments, and that those to a peer with this one are as long as the length field
// allows.
func TestSegmentsFitStrangers(t *testing.T) {
	for _, kin := range []bool{false, true} {
		s := newSide(t, hasty(), 1<<20)
		l, at := host(t)
		require.NoError(t, setSegmentSize(l, 1460))
		ep := s.endpoint()
		require.NoError(t, ep.Connect(at, sameProvider(nil)))
		p := pick(t, s, l)
		p.frame()
		p.send(mpa.Frame{Reply: true, CRC: true, Kin: kin, Revision: 2, Enhanced: true, PrivateData: []byte{0x80, 1, 0x80, 1}}.Append(nil))
		require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend, Segments: []verbs.Segment{s.region.Segment(0, 1<<20)}}))
		p.ulpdu()
		longest := 0
		for at := 0; at < 1<<20; {
			u := p.ulpdu()
			longest = max(longest, mpa.FPDULength(len(u)))
			at += len(u) - ddp.UntaggedLength
		}
		if kin {
			require.Greater(t, longest, 60_000)
		} else {
			require.LessOrEqual(t, longest, 1460)
			require.Greater(t, longest, 1300)
		}
	}
}

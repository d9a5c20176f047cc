package iwarp_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// hasty returns a configuration with short timeouts. The numbers of faults in this file are those of
// docs/connection-model.md, "Faults and tests".
func hasty() iwarp.Config {
	return iwarp.Config{RequestTimeout: 30 * time.Millisecond, StartTimeout: 30 * time.Millisecond, CloseTimeout: 30 * time.Millisecond, Pause: time.Hour}
}

// TestFaultConnect tests fault 1: a connect is refused, is not answered by any host, or is answered late.
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
		try(t, at, 20*time.Millisecond, verbs.EventTimedOut, nil)
	})
	t.Run("taken and answered late", func(t *testing.T) {
		l, at := host(t)
		ep := s.endpoint()
		require.NoError(t, ep.Connect(at, verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
		p := pick(t, s, l)
		p.frame()
		time.Sleep(2 * hasty().StartTimeout) // longer than the provider's timeouts
		s.poll()
		p.send(mpa.Frame{Reply: true, CRC: true, Revision: 2, Enhanced: true, PrivateData: []byte{0x80, 4, 0x80, 4}}.Append(nil))
		e := s.event(ep)
		require.Equal(t, verbs.EventEstablished, e.Type, "%v", e.Err)
	})
	t.Run("another family than the adapter's", func(t *testing.T) {
		err := s.endpoint().Connect(netip.MustParseAddrPort("[::1]:1"), connectOptions(nil))
		require.ErrorIs(t, err, verbs.ErrInvalidAddress)
	})
}

// TestFaultSlowRequest tests fault 2 on the passive side: a request is late or arrives in pieces.
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

// TestFaultBadRequest tests fault 3 on the passive side. The test checks that the listener drops a stranger with
// an invalid request without an answer, and then accepts other requests.
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

// replyCase is a peer's answer to a request, and the result of the attempt to connect.
type replyCase struct {
	name  string
	reply func(p *peer)
	want  verbs.EventType
	cause error
	// code is the error in the Terminate that the peer gets, or nil if it gets no Terminate.
	code error
}

// answer sends an enhanced reply with these bytes as its private data.
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

// TestFaultBadReply tests faults 3, 4 and 6 on the active side: invalid replies, rejects and depths.
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

// TestFaultPrivateData tests the provider's part of fault 5: private data of various lengths up to the maximum
// arrive unchanged, in both directions.
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

// TestFaultDepths tests fault 6: the depths that the active side reports for various replies.
func TestFaultDepths(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   []byte
		in, out int // IRD and ORD of the active side, which asks for 16 and 16
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

// TestFaultCRC tests fault 7: all four combinations of sides with and without CRC, with a Send of the active
// side.
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

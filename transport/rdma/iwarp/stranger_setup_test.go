package iwarp_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestPassiveIsSilentUntilTheFirstMessage checks RFC 5044 section 7.1.2 rule 4 for a peer of revision 1, which
// sends no RTR. The passive side sends nothing before the first FPDU of the active side.
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

// TestRTRs accepts a peer with each of the three kinds of RTR. It checks that the RTR establishes the connection and
// takes no receive. In the last case, the endpoint itself sends a Read as the RTR.
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

// introduce connects an endpoint to a scripted peer, with the given flags. The peer answers with revision 2,
// both depths 4 and a Write as the RTR. The argument kin says whether the peer claims to run this module.
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

// TestReservedBitsAreZero checks that an endpoint requests extensions of this provider only if the consumer has
// said that the peer uses this provider. For another peer the reserved bits are zero.
func TestReservedBitsAreZero(t *testing.T) {
	for flags, want := range map[verbs.ConnectFlags]bool{verbs.ConnectDefault: false, verbs.ConnectSameProvider: true} {
		_, _, asked := introduce(t, newSide(t, hasty(), 64), flags, false)
		require.Equal(t, want, asked.Kin)
		const reserved = 0x0f // RFC 5044 section 7.1.1
		require.Equal(t, want, asked.Append(nil)[16]&reserved != 0)
	}
}

// TestSilentPeersAreNudged checks that an endpoint sends three empty Writes after the RTR to a silent peer of
// another implementation. It must send none of them to a peer of this implementation, to a peer that has sent a
// message, or before Config.Pause is over. In these cases a posted Send must follow the RTR at once.
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

// TestPassiveSideSpeaksFirst accepts a peer that offers no RTR and sends nothing. With revision 2 the peer gets
// the posted messages after the pause. With revision 1 the messages wait, and the log names the reason.
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
		require.Equal(t, "iwarp: messages to "+p.conn.LocalAddr().String()+" wait: it has connected with MPA revision 1, with which it must send first, but it has sent nothing", <-lines)
		require.Empty(t, p.in)
		p.send(p.fpdu(write(1, 0, nil)))
		require.Equal(t, message(1, nil), p.ulpdu())
		require.Empty(t, lines)
	}
}

// TestPauseBeginsWithTheConnection accepts a peer without an RTR and posts a message when Config.Pause is over.
// The test checks that the post itself sends the message.
func TestPauseBeginsWithTheConnection(t *testing.T) {
	const pause = time.Millisecond
	s := newSide(t, iwarp.Config{Pause: pause}, 64)
	p := dial(t, s, s.listen().Address())
	o := strangerOffer()
	o.PeerToPeer, o.RTR = false, 0
	f, err := o.Request(nil)
	require.NoError(t, err)
	p.send(f.Append(nil))
	ep := s.endpoint()
	require.NoError(t, s.request().Accept(ep, nil))
	p.frame()
	require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
	time.Sleep(pause) // until the pause is over
	s.poll()
	require.NoError(t, ep.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpSend}))
	// From here on no goroutine polls the adapter.
	require.NoError(t, p.conn.SetReadDeadline(time.Now().Add(patience)))
	var first [1]byte
	_, err = io.ReadFull(p.conn, first[:])
	require.NoError(t, err)
}

// TestReadRTRCanBeChosen checks that an endpoint can offer a Read as the only kind of RTR.
func TestReadRTRCanBeChosen(t *testing.T) {
	for read, want := range map[bool][]byte{false: {0x80, 16, 0xc0, 16}, true: {0x80, 16, 0x40, 16}} {
		s := newSide(t, iwarp.Config{ReadRTR: read, Pause: time.Hour}, 64)
		l, at := host(t)
		require.NoError(t, s.endpoint().Connect(at, connectOptions(nil)))
		require.Equal(t, want, pick(t, s, l).frame().PrivateData)
	}
}

// TestPrivateDataFitsLinux checks that an endpoint sends at most as many bytes of private data as Linux accepts,
// and accepts as many bytes as MPA permits.
func TestPrivateDataFitsLinux(t *testing.T) {
	s := newSide(t, hasty(), 64)
	a := s.adapter.Attributes()
	require.Equal(t, []int{252, 252, 252}, []int{a.MaxRequestData, a.MaxAcceptData, a.MaxRejectData})
	l := s.listen()
	err := s.endpoint().Connect(l.Address(), connectOptions(&verbs.ConnParam{PrivateData: make([]byte, 253)}))
	require.ErrorIs(t, err, verbs.ErrInvalidParameter)
	require.ErrorContains(t, err, "private data of 253 bytes, at most 252 can be sent")
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

// TestSegmentsFitStrangers checks the lengths of FPDUs. FPDUs to a peer with another implementation fit into
// TCP's segments. FPDUs to a peer with this implementation are as long as the length field permits.
func TestSegmentsFitStrangers(t *testing.T) {
	for _, kin := range []bool{false, true} {
		config := hasty()
		config.Packing = iwarp.PackNever // because a full socket would make the device compress the zeros
		s := newSide(t, config, 1<<20)
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

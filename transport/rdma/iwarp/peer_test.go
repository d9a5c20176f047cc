package iwarp_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// peer is a scripted MPA peer on a plain TCP connection. It sends all bytes that the test gives it, also
// invalid bytes. While it waits, it polls the side that it is connected to.
type peer struct {
	t    *testing.T
	s    *side
	conn *net.TCPConn
	crc  bool
	in   []byte // received and not taken yet
	eof  bool
	err  error
}

// strangerOffer returns the MPA offer that a peer makes by default. Another implementation, such as an RDMA
// adapter, makes the same offer.
func strangerOffer() mpa.Offer {
	return mpa.Offer{Revision: 2, CRC: true, IRD: 4, ORD: 4, PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead}
}

// dial connects a peer to a listener of s.
func dial(t *testing.T, s *side, to netip.AddrPort) *peer {
	t.Helper()
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
	require.NoError(t, err)
	p := &peer{t: t, s: s, conn: c, crc: true}
	t.Cleanup(func() { _ = c.Close() })
	return p
}

// host opens a listening socket for peers to which endpoints connect.
func host(t *testing.T) (*net.TCPListener, netip.AddrPort) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().(*net.TCPAddr).AddrPort()
}

// pick accepts the connection that an endpoint of s makes.
func pick(t *testing.T, s *side, l *net.TCPListener) *peer {
	t.Helper()
	p := &peer{t: t, s: s, crc: true}
	p.pump(func() bool {
		require.NoError(t, l.SetDeadline(time.Now().Add(time.Millisecond)))
		c, err := l.AcceptTCP()
		if err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			return false
		}
		p.conn = c
		return true
	})
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

// pump polls the side until done returns true.
func (p *peer) pump(done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !done(); {
		p.s.poll()
		require.True(p.t, time.Now().Before(end), "still waiting; the log is %v", p.s.log)
	}
}

// take reads the bytes that have arrived. If no bytes have arrived, take waits for a short time.
func (p *peer) take() {
	b := make([]byte, 64<<10)
	_ = p.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	n, err := p.conn.Read(b)
	p.in = append(p.in, b[:n]...)
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, io.EOF):
		p.eof = true
	default:
		p.eof, p.err = true, err
	}
}

// send writes bytes as they are.
func (p *peer) send(b []byte) {
	p.t.Helper()
	_, err := p.conn.Write(b)
	require.NoError(p.t, err)
}

// frame waits for an MPA request or reply.
func (p *peer) frame() mpa.Frame {
	p.t.Helper()
	var f mpa.Frame
	p.pump(func() bool {
		p.take()
		g, n, err := mpa.ParseFrame(p.in)
		if errors.Is(err, mpa.ErrShort) {
			require.False(p.t, p.eof, "the connection ended: %v", p.err)
			return false
		}
		require.NoError(p.t, err)
		f, p.in = g, p.in[n:]
		return true
	})
	return f
}

// ended waits for the end of the stream. The test fails if a byte arrives before the end.
func (p *peer) ended() {
	p.t.Helper()
	p.pump(func() bool { p.take(); return p.eof })
	require.Empty(p.t, p.in)
}

// ulpdu waits for the next FPDU and returns its ULPDU.
func (p *peer) ulpdu() []byte {
	p.t.Helper()
	var ulpdu []byte
	p.pump(func() bool {
		u, n, err := mpa.Whole(p.in, p.crc)
		if errors.Is(err, mpa.ErrShort) {
			require.False(p.t, p.eof, "the connection ended: %v", p.err)
			p.take()
			return false
		}
		require.NoError(p.t, err)
		ulpdu, p.in = u, p.in[n:]
		return true
	})
	return ulpdu
}

// terminated waits for a Terminate message. The test fails if a byte follows this message.
func (p *peer) terminated() rdmap.Terminate {
	p.t.Helper()
	for {
		u := p.ulpdu()
		if rdmap.Opcode(u[1]&15) != rdmap.TerminateOpcode {
			continue
		}
		h, err := ddp.ParseUntagged(u)
		require.NoError(p.t, err)
		require.Equal(p.t, ddp.Untagged{Last: true, Control: 0x47, QN: 2, MSN: 1}, h)
		m, err := rdmap.ParseTerminate(u[ddp.UntaggedLength:])
		require.NoError(p.t, err)
		_ = p.conn.CloseWrite()
		p.ended()
		return m
	}
}

// open makes a connection as the active side. An endpoint of s accepts it.
func (p *peer) open(o mpa.Offer, ep *verbs.Endpoint) {
	p.t.Helper()
	f, err := o.Request(nil)
	require.NoError(p.t, err)
	p.send(f.Append(nil))
	require.NoError(p.t, p.s.request().Accept(ep, nil))
	a, err := o.Conclude(p.frame())
	require.NoError(p.t, err)
	p.crc = a.CRC
	p.send(p.fpdu(write(1, 0, nil)))
	require.Equal(p.t, verbs.EventEstablished, p.s.event(ep).Type)
}

// fpdu returns the FPDU that carries a ULPDU.
func (p *peer) fpdu(ulpdu []byte) []byte { return mpa.AppendFPDU(nil, ulpdu, p.crc) }

// tagged returns the ULPDU of a tagged segment.
func tagged(h ddp.Tagged, payload []byte) []byte {
	b := make([]byte, ddp.TaggedLength)
	h.Put(b)
	return append(b, payload...)
}

// untagged returns the ULPDU of an untagged segment.
func untagged(h ddp.Untagged, payload []byte) []byte {
	b := make([]byte, ddp.UntaggedLength)
	h.Put(b)
	return append(b, payload...)
}

// write returns the only segment of a Write.
func write(stag uint32, to uint64, payload []byte) []byte {
	return tagged(ddp.Tagged{Last: true, Control: rdmap.Write.Control(), STag: stag, TO: to}, payload)
}

// message returns the only segment of a Send.
func message(msn uint32, payload []byte) []byte {
	return untagged(ddp.Untagged{Last: true, Control: rdmap.Send.Control(), MSN: msn}, payload)
}

// readRequest returns a Read Request.
func readRequest(msn uint32, r rdmap.ReadRequest) []byte {
	b := make([]byte, rdmap.ReadRequestLength)
	r.Put(b)
	return untagged(ddp.Untagged{Last: true, Control: rdmap.ReadRequestOpcode.Control(), QN: 1, MSN: msn}, b)
}

// response returns the only segment of a Read Response.
func response(stag uint32, to uint64, payload []byte) []byte {
	return tagged(ddp.Tagged{Last: true, Control: rdmap.ReadResponse.Control(), STag: stag, TO: to}, payload)
}

// setSegmentSize limits the length of the TCP segments of the connections that a listener accepts, as a
// network with a small MTU does.
func setSegmentSize(l *net.TCPListener, n int) error {
	c, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, n) })
	return errors.Join(err, failed)
}

package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// FuzzStream sends an arbitrary stream in arbitrary pieces to an open connection. The test checks that memory
// without rights for peers stays unchanged, that the connection ends with the stream, and that every posted
// request completes exactly once.
func FuzzStream(f *testing.F) {
	// stag and to are placeholders in the stream. The test replaces them with the STag and the offset of
	// writable memory.
	const stag, to = 0xabcdef01, 0x0123456789abcdef
	fpdu := func(u []byte) []byte { return mpa.AppendFPDU(nil, u, false) }
	f.Add(fpdu(message(1, []byte("hello"))), uint64(1))
	f.Add(append(fpdu(write(stag, to, []byte("hello"))), fpdu(message(1, nil))...), uint64(2))
	f.Add(fpdu(readRequest(1, rdmap.ReadRequest{Size: 5, SourceSTag: stag, SourceTO: to})), uint64(3))
	f.Add(fpdu(response(1, 2, []byte("hello"))), uint64(4))
	f.Add(fpdu(untagged(ddp.Untagged{Last: true, Control: 0x47, QN: 2, MSN: 1}, []byte{0x12, 2, 0xc0, 0, 0, 18, 0x41})), uint64(5))
	f.Add(append(fpdu(untagged(ddp.Untagged{Control: 0x43, MSN: 1}, make([]byte, 50))), fpdu(untagged(ddp.Untagged{Last: true, Control: 0x44, MSN: 1, MO: 50}, nil))...), uint64(6))
	s := newSide(f, iwarp.Config{NoCRC: true, Pause: time.Hour}, 4096)
	l := s.listen()
	guarded := pattern(1024, 1)
	_, err := s.domain.Register(guarded, verbs.AccessLocalWrite)
	require.NoError(f, err)
	remote := s.region.Remote(0, 0)
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		s.tb = t
		ep := s.endpoint()
		for id := range uint64(2) {
			require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{s.region.Segment(0, 64)}}))
		}
		c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(l.Address()))
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		p := &peer{t: t, s: s, conn: c}
		o := strangerOffer()
		o.CRC = false
		p.open(o, ep)
		stream = bytes.ReplaceAll(stream, binary.BigEndian.AppendUint32(nil, stag), binary.BigEndian.AppendUint32(nil, remote.RKey))
		stream = bytes.ReplaceAll(stream, binary.BigEndian.AppendUint64(nil, to), binary.BigEndian.AppendUint64(nil, remote.Address))
		random := rand.New(rand.NewPCG(seed, 0))
		for len(stream) > 0 {
			n := min(len(stream), 1+random.IntN(100))
			if _, err := c.Write(stream[:n]); err != nil {
				break // the device has ended the connection
			}
			stream = stream[n:]
			s.poll()
		}
		_ = c.CloseWrite()
		s.event(ep)
		for id := range uint64(2) {
			s.done(ep, id)
		}
		require.Empty(t, s.log)
		require.Equal(t, pattern(1024, 1), guarded)
		require.NoError(t, ep.Free())
	})
}

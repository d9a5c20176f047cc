package rdma_test

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
)

// hear returns the next frame that the rank has sent, and its kind. It checks the CRC of each segment.
func (w *wire) hear() (kind byte, frame []byte) {
	w.Helper()
	for {
		w.until("a frame", func() bool {
			_, _, err := mpa.Whole(w.in, true)
			return !errors.Is(err, mpa.ErrShort) || w.eof
		})
		ulpdu, n, err := mpa.Whole(w.in, true)
		require.NoError(w, err)
		w.in = w.in[n:]
		if ddp.Tag(ulpdu[0]) {
			continue // a Write without bytes, with which the rank shows that it is ready
		}
		h, err := ddp.ParseUntagged(ulpdu)
		require.NoError(w, err)
		frame = append(frame, ulpdu[ddp.UntaggedLength:]...)
		if h.Last {
			return frame[8], frame
		}
	}
}

// number returns the number of the next message of the rank, after a check of its payload.
func (w *wire) number() uint64 {
	w.Helper()
	for {
		kind, frame := w.hear()
		if kind != kindEager {
			continue
		}
		n := binary.LittleEndian.Uint64(frame[24:])
		require.Equal(w, numbered(n, resendLength), frame[48:48+resendLength], "message %d", n)
		return n
	}
}

// say sends a frame in a DDP message. The argument msn is the number of the message on the connection.
func (w *wire) say(msn uint32, frame []byte) {
	w.Helper()
	ulpdu := make([]byte, ddp.UntaggedLength)
	h := ddp.Untagged{Last: true, Control: rdmap.Send.Control(), MSN: msn}
	h.Put(ulpdu)
	w.write(mpa.AppendFPDU(nil, append(ulpdu, frame...), true))
}

const (
	// resendFrames messages of resendLength bytes do not fit into the buffers of a TCP connection.
	resendFrames = 16
	resendLength = 60_000
)

// accepted accepts a connection of the rank, and waits for the proof.
func (p *pair) accepted() *wire {
	p.Helper()
	w, asked := p.dialled()
	require.NoError(p, w.conn.(*net.TCPConn).SetReadBuffer(64<<10))
	c, n := credentials(1, 2), request(1)
	n.Slot, n.Credits = 65<<10, resendFrames
	w.write(startup(replyKey, c.AppendReply(nil, &n, 0, asked)))
	kind, _ := w.hear()
	require.EqualValues(p, kindProof, kind)
	return w
}

// TestReceivedFramesAreNotSentAgain ends a connection when the peer has received frames that it has not
// acknowledged. On the next connection the peer reads nothing, so that the rank's socket is soon full, and
// acknowledges these frames. Then the rank sends further messages, for which it uses the memory of the
// acknowledged frames again. The test checks that the peer gets the further messages alone, with the right bytes.
func TestReceivedFramesAreNotSentAgain(t *testing.T) {
	p := newPair(t, 0, nil)
	send := func(from uint64) {
		for n := from; n < from+resendFrames; n++ {
			h := transport.Header{A: n, B: resendLength}
			p.pump("room", func() bool { return p.r.to(1).Send(h, numbered(n, resendLength)) == nil })
		}
	}
	first := p.accepted()
	first.say(1, frame(word(0, 0, resendFrames, 0), kindUpdate))
	send(0)
	for n := range uint64(resendFrames) {
		require.Equal(t, n, first.number())
	}
	require.NoError(t, first.conn.Close())

	second := p.accepted()
	second.say(1, frame(word(0, resendFrames, 2*resendFrames, 0), kindUpdate))
	send(resendFrames)
	for n := range uint64(resendFrames) {
		require.Equal(t, resendFrames+n, second.number())
	}
	require.Empty(t, p.r.downs)
	require.NoError(t, p.r.Abandon())
}

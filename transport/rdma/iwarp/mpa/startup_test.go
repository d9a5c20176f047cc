package mpa_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// unhex decodes hexadecimal digits. It ignores blanks.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(tb, err)
	return b
}

const (
	requestHex = "4d504120494420526571204672616d65"
	replyHex   = "4d504120494420526570204672616d65"
)

// frames are frames of RFC 6581 and of the kernel's siw.
var frames = []struct {
	name  string
	hex   string
	frame mpa.Frame
}{
	{"plain request", requestHex + "00 01 0000", mpa.Frame{Revision: 1}},
	{"plain reply", replyHex + "40 01 0003 616263", mpa.Frame{Reply: true, CRC: true, Revision: 1, PrivateData: []byte("abc")}},
	{
		"enhanced request, peer to peer, Write or Read", requestHex + "50 02 0004 8010 c010",
		mpa.Frame{CRC: true, Enhanced: true, Revision: 2, PrivateData: []byte{0x80, 0x10, 0xc0, 0x10}},
	},
	{
		"request to siw", requestHex + "10 02 000e 0005 0007 68656c6c6f2d6c617465",
		mpa.Frame{Enhanced: true, Revision: 2, PrivateData: []byte("\x00\x05\x00\x07hello-late")},
	},
	{
		"reply of siw", replyHex + "10 02 0014 0007 0005 6163636570742d707269766174652d64",
		mpa.Frame{Reply: true, Enhanced: true, Revision: 2, PrivateData: []byte("\x00\x07\x00\x05accept-private-d")},
	},
	{
		"siw rejects markers", replyHex + "30 02 0004 00000000",
		mpa.Frame{Reply: true, Reject: true, Enhanced: true, Revision: 2, PrivateData: make([]byte, 4)},
	},
	{"asks for kin", requestHex + "51 02 0004 8010 c010", mpa.Frame{CRC: true, Kin: true, Enhanced: true, Revision: 2, PrivateData: []byte{0x80, 0x10, 0xc0, 0x10}}},
	{"kin", replyHex + "02 01 0000", mpa.Frame{Reply: true, Kin: true, Revision: 1}},
	{"markers", requestHex + "80 01 0000", mpa.Frame{Markers: true, Revision: 1}},
}

func TestFrameGolden(t *testing.T) {
	for _, c := range frames {
		t.Run(c.name, func(t *testing.T) {
			b := unhex(t, c.hex)
			require.Equal(t, b, c.frame.Append(nil))
			f, n, err := mpa.ParseFrame(append(b, "rest"...))
			require.NoError(t, err)
			require.Equal(t, len(b), n)
			if len(f.PrivateData) == 0 {
				f.PrivateData = nil
			}
			require.Equal(t, c.frame, f)
		})
	}
}

func TestFrameTruncated(t *testing.T) {
	for _, c := range frames {
		b := unhex(t, c.hex)
		for i := range b {
			_, _, err := mpa.ParseFrame(b[:i])
			require.ErrorIs(t, err, mpa.ErrShort, "%s, %d bytes", c.name, i)
			if i < mpa.FrameLength {
				require.Equal(t, mpa.FrameLength-i, mpa.Missing(b[:i]))
			} else {
				require.Equal(t, len(b)-i, mpa.Missing(b[:i]))
			}
		}
	}
}

func TestFrameBad(t *testing.T) {
	good := unhex(t, requestHex+"40 01 0000")
	t.Run("a stranger is known by the first wrong byte", func(t *testing.T) {
		for i := range 16 {
			b := append([]byte(nil), good...)
			b[i] ^= 0x20
			for n := i + 1; n <= len(b); n++ {
				_, _, err := mpa.ParseFrame(b[:n])
				require.ErrorIs(t, err, mpa.ErrKey, "byte %d flipped, %d bytes", i, n)
			}
		}
		_, _, err := mpa.ParseFrame([]byte("GET / HTTP/1.1\r\n"))
		require.ErrorIs(t, err, mpa.ErrKey)
	})
	t.Run("private data too long", func(t *testing.T) {
		for _, n := range []int{513, 1024, 65535} {
			b := append(append([]byte(nil), good[:18]...), byte(n>>8), byte(n))
			_, _, err := mpa.ParseFrame(b)
			require.ErrorIs(t, err, mpa.ErrPrivateData)
		}
		b := append(append([]byte(nil), good[:18]...), 2, 0)
		_, n, err := mpa.ParseFrame(append(b, make([]byte, 512)...))
		require.NoError(t, err)
		require.Equal(t, mpa.FrameLength+mpa.PrivateDataMax, n)
	})
	t.Run("flags without a meaning are ignored", func(t *testing.T) {
		f, _, err := mpa.ParseFrame(unhex(t, requestHex+"3f 01 0000"))
		require.NoError(t, err)
		require.False(t, f.Reject, "R means nothing in a request")
		require.False(t, f.Enhanced, "S means nothing in revision 1")
	})
}

func TestEnhanced(t *testing.T) {
	cases := []struct {
		hex  string
		want mpa.Enhanced
	}{
		{"8010 c010", mpa.Enhanced{PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead, IRD: 16, ORD: 16}},
		{"c000 0000", mpa.Enhanced{PeerToPeer: true, RTR: mpa.RTRSend}},
		{"bfff 7fff", mpa.Enhanced{PeerToPeer: true, RTR: mpa.RTRRead, IRD: mpa.DepthUnstated, ORD: mpa.DepthUnstated}},
		{"0005 0007", mpa.Enhanced{IRD: 5, ORD: 7}},
		{"3ffe 0001", mpa.Enhanced{IRD: mpa.DepthMax, ORD: 1}},
	}
	for _, c := range cases {
		b := unhex(t, c.hex)
		e, n, err := mpa.ParseEnhanced(b)
		require.NoError(t, err)
		require.Equal(t, mpa.EnhancedLength, n)
		require.Equal(t, c.want, e, c.hex)
		require.Equal(t, b, e.Append(nil), c.hex)
		for i := range b {
			_, _, err := mpa.ParseEnhanced(b[:i])
			require.ErrorIs(t, err, mpa.ErrShort)
		}
	}
	e, _, err := mpa.ParseEnhanced(unhex(t, "4001 c002"))
	require.NoError(t, err)
	require.Equal(t, mpa.Enhanced{IRD: 1, ORD: 2}, e, "B, C and D mean nothing without A")
}

func TestSplit(t *testing.T) {
	f, _, err := mpa.ParseFrame(unhex(t, requestHex+"10 02 0006 0005 0007 6869"))
	require.NoError(t, err)
	e, private, err := f.Split()
	require.NoError(t, err)
	require.Equal(t, mpa.Enhanced{IRD: 5, ORD: 7}, e)
	require.Equal(t, "hi", string(private))

	e, private, err = mpa.Frame{Revision: 1, PrivateData: []byte("hi")}.Split()
	require.NoError(t, err)
	require.Equal(t, mpa.Enhanced{IRD: mpa.DepthUnstated, ORD: mpa.DepthUnstated}, e)
	require.Equal(t, "hi", string(private))

	for n := range 4 {
		_, _, err = mpa.Frame{Revision: 2, Enhanced: true, PrivateData: make([]byte, n)}.Split()
		require.ErrorIs(t, err, mpa.ErrEnhanced, "%d bytes of private data", n)
	}
}

func FuzzParseFrame(f *testing.F) {
	for _, c := range frames {
		f.Add(unhex(f, c.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, n, err := mpa.ParseFrame(b)
		if err != nil {
			require.Zero(t, n)
			return
		}
		require.LessOrEqual(t, n, len(b))
		require.Equal(t, n, mpa.FrameLength+len(frame.PrivateData))
		again, m, err := mpa.ParseFrame(frame.Append(nil))
		require.NoError(t, err)
		require.Equal(t, n, m)
		require.Equal(t, frame, again)
		if e, private, err := frame.Split(); err == nil && frame.Enhanced {
			back, _, err := mpa.ParseEnhanced(e.Append(nil))
			require.NoError(t, err)
			require.Equal(t, e, back)
			require.Len(t, private, len(frame.PrivateData)-mpa.EnhancedLength)
		}
	})
}

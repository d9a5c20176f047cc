package rdmap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
)

func TestPlainIsASend(t *testing.T) {
	b := make([]byte, ddp.UntaggedLength)
	for i := range b {
		b[i] = 0xff
	}
	rdmap.PutPlain(b, 0x01020304)
	require.Equal(t, unhex(t, "41 43 00000000 00000000 01020304 00000000"), b)
	h, err := ddp.ParseUntagged(b)
	require.NoError(t, err)
	require.Equal(t, ddp.Untagged{Last: true, Control: rdmap.Send.Control(), QN: rdmap.QueueSend, MSN: 0x01020304}, h)
	for _, payload := range []int{0, 1, 100} {
		msn, ok := rdmap.Plain(append(b, make([]byte, payload)...))
		require.True(t, ok)
		require.Equal(t, uint32(0x01020304), msn)
	}
	for n := range b {
		_, ok := rdmap.Plain(b[:n])
		require.False(t, ok, "%d octets", n)
	}
}

// TestOnlyPlainSendsArePlain inverts each bit of the header of a plain Send. If the bit belongs to the message
// sequence number, the result is a plain Send with another number. If the bit belongs to the field that a
// plain Send does not use, the result is the same plain Send. If any other bit is inverted, the result is no
// plain Send.
func TestOnlyPlainSendsArePlain(t *testing.T) {
	b := make([]byte, ddp.UntaggedLength)
	rdmap.PutPlain(b, 7)
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		msn, ok := rdmap.Plain(b)
		switch at := i / 8; {
		case at >= 2 && at < 6:
			require.True(t, ok, "bit %d", i)
			require.Equal(t, uint32(7), msn)
		case at >= 10 && at < 14:
			require.True(t, ok, "bit %d", i)
			require.NotEqual(t, uint32(7), msn)
		default:
			require.False(t, ok, "bit %d", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

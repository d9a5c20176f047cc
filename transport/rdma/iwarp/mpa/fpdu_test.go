package mpa_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
)

// sendHex is the DDP segment of RFC 5044 figures 5 and 6: an untagged Send with 24 zero octets. Its MSN is 1,
// as in figure 5.
const sendHex = "4143 00000000 00000000 00000001 00000000" + "000000000000000000000000000000000000000000000000"

// TestChecksumVectors checks the CRCs of RFC 5044 figures 5 and 6. The octets of both figures contain a marker.
// This package never sends markers, but the test can check the CRCs, because a CRC covers a marker like any other
// octets. The third vector is the FPDU of figure 5 without its marker.
func TestChecksumVectors(t *testing.T) {
	for name, c := range map[string]struct{ covered, wire string }{
		"figure 5, marker before the FPDU": {"00000000 002a" + sendHex, "52 23 99 83"},
		"figure 6, marker within": {
			"002a 4143 00000000 00000000 00000002 00000000" + "00000014" + "000000000000000000000000000000000000000000000000",
			"84 92 58 98",
		},
		"without a marker": {"002a" + sendHex, "b7 24 3e c3"},
	} {
		crc := mpa.Checksum(0, unhex(t, c.covered))
		require.Equal(t, unhex(t, c.wire), binary.LittleEndian.AppendUint32(nil, crc), name)
	}
}

func TestFPDUGolden(t *testing.T) {
	ulpdu := unhex(t, sendHex)
	for _, c := range []struct {
		on   bool
		tail string
	}{{true, "b7243ec3"}, {false, "00000000"}} {
		want := unhex(t, "002a"+sendHex+c.tail)
		b := mpa.AppendFPDU(nil, ulpdu, c.on)
		require.Equal(t, want, b)
		require.Len(t, b, mpa.FPDULength(len(ulpdu)))
		got, n, err := mpa.Whole(append(b, 1, 2, 3), c.on)
		require.NoError(t, err)
		require.Equal(t, ulpdu, got)
		require.Equal(t, len(want), n)
	}
}

// TestSeal checks that completing an FPDU in place gives the same octets as AppendFPDU. Before the call
// of Seal, the memory of the padding and of the CRC contains other bytes.
func TestSeal(t *testing.T) {
	for n := range 600 {
		for _, on := range []bool{true, false} {
			ulpdu := bytes.Repeat([]byte{byte(n), 3}, n)[:n]
			b := bytes.Repeat([]byte{0xa5}, mpa.FPDULength(n))
			copy(b[mpa.HeaderLength:], ulpdu)
			mpa.Seal(b, n, on)
			require.Equal(t, mpa.AppendFPDU(nil, ulpdu, on), b)
		}
	}
}

func TestPadding(t *testing.T) {
	for n := range 70 {
		require.Zero(t, (mpa.HeaderLength+n+mpa.Pad(n))%4, "length %d", n)
		require.Less(t, mpa.Pad(n), 4)
		b := mpa.AppendFPDU(nil, make([]byte, n), true)
		require.Zero(t, len(b)%4)
		require.Len(t, b, mpa.FPDULength(n))
	}
}

func TestMULPDU(t *testing.T) {
	for emss, want := range map[int]int{
		1460: 1454, 1448: 1442, 1461: 1454, 1463: 1454, 65483: 65474, 536: 530, 100: 128, 0: 128, 1 << 20: mpa.ULPDUMax,
	} {
		require.Equal(t, want, mpa.MULPDU(emss), "EMSS %d", emss)
		if want > 128 && want < mpa.ULPDUMax {
			require.LessOrEqual(t, mpa.FPDULength(want), emss)
			require.Greater(t, mpa.FPDULength(want+1), emss-emss%4)
		}
	}
}

func TestWholeTruncated(t *testing.T) {
	b := mpa.AppendFPDU(nil, unhex(t, sendHex), true)
	for i := range b {
		_, _, err := mpa.Whole(b[:i], true)
		require.ErrorIs(t, err, mpa.ErrShort, "%d bytes", i)
	}
}

func TestEveryFlippedBitIsCaught(t *testing.T) {
	good := mpa.AppendFPDU(nil, unhex(t, sendHex)[:41], true) // needs one octet of padding
	for bit := 16; bit < 8*len(good); bit++ {
		b := append([]byte(nil), good...)
		b[bit/8] ^= 1 << (bit % 8)
		_, _, err := mpa.Whole(b, true)
		require.ErrorIs(t, err, mpa.ErrCRC, "bit %d", bit)
		_, _, err = mpa.Whole(b, false)
		require.NoError(t, err, "bit %d with CRC off", bit)
	}
}

func TestPaddingNeedNotBeZero(t *testing.T) {
	b := unhex(t, "0001 61 ff") // length 1, one octet, padding of all ones
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	ulpdu, _, err := mpa.Whole(b, true)
	require.NoError(t, err)
	require.Equal(t, "a", string(ulpdu))
}

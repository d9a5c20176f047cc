package rdmap_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
)

const (
	taggedHex   = "c140 00000007 0000000000001000"
	untaggedHex = "4141 00000000 00000001 00000005 00000000"
	readHex     = "01020304 05060708090a0b0c 0d0e0f10 11121314 15161718191a1b1c"
)

var terminates = []struct {
	name string
	hex  string
	code rdmap.Code
	// header and read are the headers that the message contains.
	header, read string
	length       uint16
}{
	{"of MPA, bare", "2002 0000", rdmap.Code{Layer: 2, Code: 2}, "", "", 0},
	{"of DDP, tagged", "1101 c000 002a" + taggedHex, rdmap.Code{Layer: 1, Type: 1, Code: 1}, taggedHex, "", 42},
	{"of DDP, untagged", "1202 c000 0012" + untaggedHex, rdmap.Code{Layer: 1, Type: 2, Code: 2}, untaggedHex, "", 18},
	{"of RDMAP, a read", "0102 e000 002e" + untaggedHex + readHex, rdmap.Code{Type: 1, Code: 2}, untaggedHex, readHex, 46},
}

func TestTerminateGolden(t *testing.T) {
	for _, c := range terminates {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, c.hex)
			m, err := rdmap.ParseTerminate(want)
			require.NoError(t, err)
			require.Equal(t, c.code, m.Code)
			require.Equal(t, unhex(t, c.header), append([]byte{}, m.Header...))
			require.Equal(t, unhex(t, c.read), append([]byte{}, m.Read...))
			require.Equal(t, c.length, m.SegmentLength)
			require.Equal(t, want, m.Append(nil))
			for i := range want {
				cut, err := rdmap.ParseTerminate(want[:i])
				require.ErrorIs(t, err, rdmap.ErrShort, "%d octets", i)
				if i >= rdmap.TerminateLength {
					require.Equal(t, c.code, cut.Code, "the code is there before the headers are")
				}
			}
		})
	}
	require.Equal(t, rdmap.TerminateLengthMax, len(unhex(t, terminates[3].hex)))
}

// TestTerminateOfSiw decodes the Terminate of siw on a little-endian host. siw sends layer 2, type 0, code 6
// with the bits M and D as 02 06 03 00.
func TestTerminateOfSiw(t *testing.T) {
	m, err := rdmap.ParseTerminate(unhex(t, "0206 0300 002a"+taggedHex))
	require.NoError(t, err)
	require.Equal(t, rdmap.Code{Layer: 2, Code: 6}, m.Code)
	require.Equal(t, unhex(t, taggedHex), m.Header)

	m, err = rdmap.ParseTerminate(unhex(t, "2102 0700 002e"+untaggedHex+readHex))
	require.NoError(t, err)
	require.Equal(t, rdmap.Code{Layer: 1, Type: 2, Code: 2}, m.Code)
	require.Equal(t, unhex(t, readHex), m.Read)

	m, err = rdmap.ParseTerminate(unhex(t, "0200 0000"))
	require.NoError(t, err)
	require.True(t, m.Ambiguous, "without flags nothing tells the order")
	require.Equal(t, rdmap.Code{Type: 2}, m.Code)
	require.Equal(t, rdmap.Code{Layer: 2}, m.Other)
	m, err = rdmap.ParseTerminate(unhex(t, "1100 0000"))
	require.NoError(t, err)
	require.False(t, m.Ambiguous, "equal nibbles read the same either way")
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{rdmap.ErrAccess, "0/1/02"},
		{rdmap.ErrProtectedSTag, "0/1/09"},
		{rdmap.ErrInvalidate, "0/2/09"},
		{rdmap.ErrOpcode, "0/2/06"},
		{rdmap.ErrStream, "0/2/07"},
		{ddp.ErrSTag, "1/1/00"},
		{ddp.ErrNoBuffer, "1/2/02"},
		{ddp.ErrUntaggedVersion, "1/2/06"},
		{mpa.ErrCRC, "2/0/02"},
		{mpa.ErrInsufficient, "2/0/06"},
		{rdmap.ErrShort, "2/0/03"},
		{ddp.ErrShort, "2/0/03"},
		{io.EOF, "0/0/00"},
		{fmt.Errorf("receive: %w", ddp.ErrTooLong), "1/2/05"},
	} {
		require.Equal(t, c.want, rdmap.CodeOf(c.err).String(), c.err)
	}
}

func TestFaultIsTheInverseOfCodeOf(t *testing.T) {
	for layer := range uint8(3) {
		for kind := range uint8(3) {
			for code := range 256 {
				if layer == rdmap.LayerLLP && kind != 0 {
					continue
				}
				c := rdmap.Code{Layer: layer, Type: kind, Code: uint8(code)}
				require.Equal(t, c, rdmap.CodeOf(c.Fault()))
				require.NotEmpty(t, c.Text())
			}
		}
	}
	require.NoError(t, rdmap.Code{Layer: 3}.Fault())
	require.Equal(t, "unknown layer", rdmap.Code{Layer: 9}.Text())
}

func TestRemoteError(t *testing.T) {
	err := error(&rdmap.RemoteError{Code: rdmap.Code{Layer: 1, Type: 2, Code: 2}})
	require.ErrorIs(t, err, ddp.ErrNoBuffer)
	require.EqualError(t, err, "rdmap: terminated by the peer: 1/2/02 (ddp: no buffer posted)")
	err = &rdmap.RemoteError{Code: rdmap.Code{Type: 2, Code: 3}, Other: rdmap.Code{Layer: 2, Code: 3}, Ambiguous: true}
	require.ErrorContains(t, err, "or 2/0/03 (mpa: length mismatch) if it is siw")
}

func FuzzParseTerminate(f *testing.F) {
	for _, c := range terminates {
		f.Add(unhex(f, c.hex))
	}
	f.Add(unhex(f, "0206 0300 002a"+taggedHex))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := rdmap.ParseTerminate(b)
		if err != nil {
			require.ErrorIs(t, err, rdmap.ErrShort)
			return
		}
		back := m.Append(nil)
		require.LessOrEqual(t, len(back), rdmap.TerminateLengthMax)
		again, err := rdmap.ParseTerminate(back)
		require.NoError(t, err)
		require.Equal(t, m.Code, again.Code)
		require.Equal(t, m.Header, again.Header)
		require.Equal(t, m.Read, again.Read)
		_ = (&rdmap.RemoteError{Code: m.Code, Other: m.Other, Ambiguous: m.Ambiguous}).Error()
	})
}

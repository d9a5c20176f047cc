package ddp_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// unhex decodes hexadecimal digits. It ignores blanks.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(tb, err)
	return b
}

var taggedHeaders = []struct {
	hex    string
	header ddp.Tagged
}{
	{"81 40 00000001 0000000000000000", ddp.Tagged{Control: 0x40, STag: 1}},
	{"c1 42 deadbeef 0123456789abcdef", ddp.Tagged{Last: true, Control: 0x42, STag: 0xdeadbeef, TO: 0x0123456789abcdef}},
	{"c1 40 ffffffff ffffffffffffffff", ddp.Tagged{Last: true, Control: 0x40, STag: 1<<32 - 1, TO: 1<<64 - 1}},
}

var untaggedHeaders = []struct {
	hex    string
	header ddp.Untagged
}{
	// This is the Send of RFC 5044 figure 5.
	{"41 43 00000000 00000000 00000001 00000000", ddp.Untagged{Last: true, Control: 0x43, MSN: 1}},
	{"01 46 a1b2c3d4 00000000 ffffffff 00010203", ddp.Untagged{Control: 0x46, ULP: 0xa1b2c3d4, MSN: 1<<32 - 1, MO: 0x010203}},
	{"41 47 00000000 00000002 00000001 00000000", ddp.Untagged{Last: true, Control: 0x47, QN: 2, MSN: 1}},
}

func TestTaggedGolden(t *testing.T) {
	for _, c := range taggedHeaders {
		want := unhex(t, c.hex)
		b := make([]byte, ddp.TaggedLength)
		c.header.Put(b)
		require.Equal(t, want, b)
		h, err := ddp.ParseTagged(append(b, "payload"...))
		require.NoError(t, err)
		require.Equal(t, c.header, h)
		require.True(t, ddp.Tag(b[0]))
		require.Equal(t, ddp.TaggedLength, ddp.Length(b[0]))
		for i := range want {
			_, err := ddp.ParseTagged(want[:i])
			require.ErrorIs(t, err, ddp.ErrShort)
		}
	}
}

func TestUntaggedGolden(t *testing.T) {
	for _, c := range untaggedHeaders {
		want := unhex(t, c.hex)
		b := make([]byte, ddp.UntaggedLength)
		c.header.Put(b)
		require.Equal(t, want, b)
		h, err := ddp.ParseUntagged(append(b, "payload"...))
		require.NoError(t, err)
		require.Equal(t, c.header, h)
		require.False(t, ddp.Tag(b[0]))
		require.Equal(t, ddp.UntaggedLength, ddp.Length(b[0]))
		for i := range want {
			_, err := ddp.ParseUntagged(want[:i])
			require.ErrorIs(t, err, ddp.ErrShort)
		}
	}
}

func TestControlOctets(t *testing.T) {
	b := make([]byte, ddp.UntaggedLength)
	for c := range 256 {
		b[0] = byte(c)
		_, tagged := ddp.ParseTagged(b)
		_, untagged := ddp.ParseUntagged(b)
		early := ddp.CheckVersion(b[0])
		switch {
		case c&3 != ddp.Version && c&0x80 != 0:
			require.ErrorIs(t, tagged, ddp.ErrTaggedVersion)
			require.ErrorIs(t, early, ddp.ErrTaggedVersion)
		case c&3 != ddp.Version:
			require.ErrorIs(t, untagged, ddp.ErrUntaggedVersion)
			require.ErrorIs(t, early, ddp.ErrUntaggedVersion)
		case c&0x80 != 0:
			require.NoError(t, tagged, "reserved bits are ignored: %#02x", c)
			require.ErrorIs(t, untagged, ddp.ErrUntaggedVersion)
			require.NoError(t, early)
		default:
			require.NoError(t, untagged, "reserved bits are ignored: %#02x", c)
			require.ErrorIs(t, tagged, ddp.ErrTaggedVersion)
			require.NoError(t, early)
		}
	}
}

func TestHeadersAllocateNothing(t *testing.T) {
	b := make([]byte, ddp.UntaggedLength)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		(&ddp.Untagged{Last: true, MSN: 7}).Put(b)
		h, err := ddp.ParseUntagged(b)
		if err != nil || h.MSN != 7 {
			t.Fatal(err)
		}
	}))
}

func TestFaults(t *testing.T) {
	texts := map[string]bool{}
	for _, f := range []ddp.FaultError{
		ddp.ErrLocal, ddp.ErrSTag, ddp.ErrBounds, ddp.ErrNotAssociated, ddp.ErrWrap, ddp.ErrTaggedVersion, ddp.ErrQueue,
		ddp.ErrNoBuffer, ddp.ErrSequence, ddp.ErrOffset, ddp.ErrTooLong, 0x2ff,
	} {
		require.False(t, texts[f.Error()], f.Error())
		texts[f.Error()] = true
		require.Equal(t, f, ddp.FaultError(f.Type())<<8|ddp.FaultError(f.Code()))
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range taggedHeaders {
		f.Add(unhex(f, c.hex))
	}
	for _, c := range untaggedHeaders {
		f.Add(unhex(f, c.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tagged, errTagged := ddp.ParseTagged(b)
		untagged, errUntagged := ddp.ParseUntagged(b)
		require.False(t, errTagged == nil && errUntagged == nil, "no segment is both")
		back := make([]byte, ddp.UntaggedLength)
		switch {
		case errTagged == nil:
			tagged.Put(back)
			require.Equal(t, b[0]&^0x3c, back[0])
			require.Equal(t, b[1:ddp.TaggedLength], back[1:ddp.TaggedLength])
		case errUntagged == nil:
			untagged.Put(back)
			require.Equal(t, b[0]&^0x3c, back[0])
			require.Equal(t, b[1:ddp.UntaggedLength], back[1:])
		}
	})
}

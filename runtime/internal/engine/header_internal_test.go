package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

func TestHeaderGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		h    header
		w    transport.Header
	}{
		{
			"eager",
			header{kind: kindEager, context: 0x01020304, tag: 0x11121314, typ: 0x21222324, id: 0, limit: 0x31323334},
			transport.Header{A: 0x0102030400000001, B: 0x2122232411121314, C: 0x3132333400000000},
		},
		{
			"synchronous",
			header{kind: kindEager, flags: flagSync, tag: TagMax, id: 0x41424344},
			transport.Header{A: 0x101, B: 0x7fffffff, C: 0x41424344},
		},
		{
			"RTS",
			header{kind: kindRTS, flags: flagKey | flagStarved, context: 7, id: 9, limit: 1},
			transport.Header{A: 0x0000000700000602, B: 0, C: 0x0000000100000009},
		},
		{"release", header{kind: kindRelease}, transport.Header{A: 12}},
		{"notice", header{kind: kindNotice, tag: 9}, transport.Header{A: 13, B: 9}},
	} {
		require.Equal(t, c.w, c.h.pack(), c.name)
		back, err := parseHeader(c.w)
		require.NoError(t, err, c.name)
		require.Equal(t, c.h, back, c.name)
	}
	for _, w := range []transport.Header{{}, {A: uint64(kindEnd)}, {A: 0x801}, {A: 0x10001}, {A: 1, B: 1 << 31}} {
		_, err := parseHeader(w)
		require.ErrorIs(t, err, ErrProtocol, "%#x", w)
	}
}

func TestBodiesGolden(t *testing.T) {
	v := envelope{length: 0x0102030405060708, key: transport.Key{Addr: 0x1112131415161718, Token: 0x2122232425262728}}
	var b [envelopeSize]byte
	v.put(&b)
	require.Equal(t, "\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x28\x27\x26\x25\x24\x23\x22\x21", string(b[:]))
	back, err := parseEnvelope(b[:])
	require.NoError(t, err)
	require.Equal(t, v, back)
	for n := range b {
		_, err := parseEnvelope(b[:n])
		require.ErrorIs(t, err, ErrProtocol, "%d bytes", n)
	}

	c := clearance{room: 1 << 40, key: transport.Key{Addr: 1, Token: 2}, id: 0x01020304}
	var d [clearanceSize]byte
	c.put(&d)
	require.Equal(t, "\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04\x03\x02\x01", string(d[:]))
	got, err := parseClearance(d[:])
	require.NoError(t, err)
	require.Equal(t, c, got)
	for n := range d {
		_, err := parseClearance(d[:n])
		require.ErrorIs(t, err, ErrProtocol, "%d bytes", n)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(uint64(1), uint64(5), uint64(9))
	f.Add(uint64(0x602), uint64(1)<<31, uint64(0))
	f.Fuzz(func(t *testing.T, a, b, c uint64) {
		w := transport.Header{A: a, B: b, C: c}
		h, err := parseHeader(w)
		if err == nil && h.pack() != w {
			t.Fatalf("%#x became %#x", w, h.pack())
		}
	})
}

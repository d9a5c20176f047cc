package rdma

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

// eagerFrame returns an eager frame with the given records.
func eagerFrame(records ...record) []byte {
	b := make([]byte, 4096)
	putHead(b, 0x0102030405060708, frameEager, false)
	n := headBytes
	for i := range records {
		n += putRecord(b[n:], records[i].kind, records[i].header, records[i].payload)
	}
	return b[:n]
}

func TestFrameIsAsDocumented(t *testing.T) {
	frame := eagerFrame(record{recordMessage, transport.Header{A: 0x11, B: 0x2200, C: 0x330000}, []byte("hello")})
	require.Equal(t, ""+
		"0807060504030201"+"01"+"00"+"000000000000"+ // frame header
		"05000000"+"01"+"000000"+"1100000000000000"+"0022000000000000"+"0000330000000000"+ // record
		"68656c6c6f"+"000000", hex.EncodeToString(frame))

	bye := make([]byte, headBytes)
	putHead(bye, 1, frameBye, true)
	require.Equal(t, "0100000000000000"+"03"+"01"+"000000000000", hex.EncodeToString(bye))
	h, err := parseHead(bye)
	require.NoError(t, err)
	require.Equal(t, head{1, frameBye, true}, h)
}

func TestRecordsComeBack(t *testing.T) {
	want := []record{
		{recordMessage, transport.Header{A: ^uint64(0)}, nil},
		{recordFetch, transport.Header{A: 1, B: 2, C: 3}, make([]byte, questionBytes)},
		{recordChecked, transport.Header{B: 1}, []byte{}},
		{recordMessage, transport.Header{C: 9}, bytes.Repeat([]byte{7}, 1001)},
	}
	b := eagerFrame(want...)
	h, err := parseHead(b)
	require.NoError(t, err)
	require.Equal(t, head{credit.Word(0x0102030405060708), frameEager, false}, h)
	at := headBytes
	for i := range want {
		r, n, err := parseRecord(b[at:])
		require.NoError(t, err)
		require.Equal(t, want[i].kind, r.kind)
		require.Equal(t, want[i].header, r.header)
		require.True(t, bytes.Equal(want[i].payload, r.payload))
		at += n
	}
	require.Len(t, b, at)
}

// TestPaddingIsZero checks that padding is zeroed, so that a peer sees nothing of the earlier contents of the
// memory.
func TestPaddingIsZero(t *testing.T) {
	for n := range 18 {
		b := bytes.Repeat([]byte{0xdb}, recordBytes+32)
		payload := bytes.Repeat([]byte{7}, n)
		length := putRecord(b, recordMessage, transport.Header{}, payload)
		require.Equal(t, recordBytes+padded(n), length)
		require.Equal(t, payload, b[recordBytes:recordBytes+n])
		require.Equal(t, make([]byte, padded(n)-n), b[recordBytes+n:length], "%d bytes", n)
		require.Equal(t, bytes.Repeat([]byte{0xdb}, len(b)-length), b[length:], "%d bytes", n)
	}
}

// TestEveryTruncationIsFound checks that the parsers report a frame as damaged wherever it was cut short.
func TestEveryTruncationIsFound(t *testing.T) {
	b := eagerFrame(record{recordMessage, transport.Header{A: 1}, []byte("some payload")})
	for n := range headBytes {
		_, err := parseHead(b[:n])
		require.ErrorIs(t, err, transport.ErrDamaged, "%d bytes", n)
	}
	for n := headBytes; n < len(b); n++ {
		_, _, err := parseRecord(b[headBytes:n])
		require.ErrorIs(t, err, transport.ErrDamaged, "%d bytes", n)
	}
}

// TestSingleIsWhatTheParsersRead checks that the fast path for frames with one message agrees with the general
// parsers, and that it accepts no other frame.
func TestSingleIsWhatTheParsersRead(t *testing.T) {
	for n := range 40 {
		b := eagerFrame(record{recordMessage, transport.Header{A: 1, B: 2, C: 3}, bytes.Repeat([]byte{7}, n)})
		w, h, payload, ok := parseSingle(b)
		require.True(t, ok)
		require.Equal(t, credit.Word(0x0102030405060708), w)
		require.Equal(t, transport.Header{A: 1, B: 2, C: 3}, h)
		require.Equal(t, bytes.Repeat([]byte{7}, n), payload)
		for short := headBytes + recordBytes; short < len(b); short++ {
			_, _, _, ok = parseSingle(b[:short])
			require.False(t, ok)
		}
	}
	message := record{recordMessage, transport.Header{}, []byte("x")}
	for name, b := range map[string][]byte{
		"two":    eagerFrame(message, message),
		"marker": eagerFrame(record{recordMarker, transport.Header{}, nil}),
	} {
		_, _, _, ok := parseSingle(b)
		require.False(t, ok, name)
	}
	b := eagerFrame(message)
	b[8] = byte(frameUpdate)
	_, _, _, ok := parseSingle(b)
	require.False(t, ok)
}

// FuzzFrame checks that the parsers never read beyond the frame, and that whatever they accept can be written
// again with the same bytes, except padding.
func FuzzFrame(f *testing.F) {
	f.Add(eagerFrame(record{recordMessage, transport.Header{A: 1}, []byte("payload")}))
	f.Add(eagerFrame(record{recordMarker, transport.Header{}, nil}, record{recordCheck, transport.Header{}, make([]byte, 8)}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headBytes+recordBytes {
			if w, m, payload, ok := parseSingle(b); ok {
				h, err := parseHead(b)
				require.NoError(t, err)
				require.Equal(t, head{w, frameEager, false}, h)
				r, n, err := parseRecord(b[headBytes:])
				require.NoError(t, err)
				require.Equal(t, record{recordMessage, m, payload}, r)
				require.Equal(t, len(b), headBytes+n)
			}
		}
		h, err := parseHead(b)
		if err != nil {
			return
		}
		again := make([]byte, headBytes)
		putHead(again, h.word, h.kind, h.final)
		require.Equal(t, b[:headBytes], again)
		for at := headBytes; at < len(b); {
			r, n, err := parseRecord(b[at:])
			if err != nil {
				return
			}
			require.LessOrEqual(t, at+n, len(b))
			out := make([]byte, n)
			require.Equal(t, n, putRecord(out, r.kind, r.header, r.payload))
			require.Equal(t, b[at:at+recordBytes+len(r.payload)], out[:recordBytes+len(r.payload)])
			at += n
		}
	})
}

package rdmap_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
)

// unhex decodes hexadecimal digits. It ignores blanks.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(tb, err)
	return b
}

// messages is the table of RFC 5040 section 4.1.
var messages = []struct {
	opcode     rdmap.Opcode
	control    byte
	tagged     bool
	queue      uint32
	invalidate bool
	solicited  bool
}{
	{rdmap.Write, 0x40, true, 0, false, false},
	{rdmap.ReadRequestOpcode, 0x41, false, 1, false, false},
	{rdmap.ReadResponse, 0x42, true, 0, false, false},
	{rdmap.Send, 0x43, false, 0, false, false},
	{rdmap.SendInvalidate, 0x44, false, 0, true, false},
	{rdmap.SendSolicited, 0x45, false, 0, false, true},
	{rdmap.SendSolicitedInvalidate, 0x46, false, 0, true, true},
	{rdmap.TerminateOpcode, 0x47, false, 2, false, false},
}

func TestOpcodes(t *testing.T) {
	for _, m := range messages {
		require.Equal(t, m.control, m.opcode.Control(), m.opcode)
		require.Equal(t, m.tagged, m.opcode.Tagged(), m.opcode)
		require.Equal(t, m.invalidate, m.opcode.Invalidates(), m.opcode)
		require.Equal(t, m.solicited, m.opcode.Solicited(), m.opcode)
		if m.tagged {
			continue
		}
		require.Equal(t, m.queue, m.opcode.Queue(), m.opcode)
		for qn := range uint32(6) {
			err := rdmap.CheckQueue(m.opcode, qn)
			switch {
			case qn == m.queue:
				require.NoError(t, err)
			case qn < rdmap.Queues:
				require.ErrorIs(t, err, rdmap.ErrOpcode)
			default:
				require.ErrorIs(t, err, ddp.ErrQueue)
			}
		}
		if m.queue == rdmap.QueueSend {
			require.Equal(t, m.opcode, rdmap.SendOpcode(m.solicited, m.invalidate))
		}
	}
}

// TestEveryControl checks all 65536 values of the first two octets of a segment against a second implementation
// of the rules.
func TestEveryControl(t *testing.T) {
	for first := range 256 {
		for second := range 256 {
			o, err := rdmap.CheckControl(byte(first), byte(second))
			opcode, tagged := second&15, first&0x80 != 0
			switch {
			case first&3 != 1 && tagged:
				require.Equal(t, ddp.ErrTaggedVersion, err)
			case first&3 != 1:
				require.Equal(t, ddp.ErrUntaggedVersion, err)
			case second>>6 > 1:
				require.Equal(t, rdmap.ErrVersion, err)
			case opcode > 7, tagged != (opcode == 0 || opcode == 2):
				require.Equal(t, rdmap.ErrOpcode, err)
			default:
				require.NoError(t, err)
				require.Equal(t, rdmap.Opcode(opcode), o)
			}
		}
	}
}

func TestReadRequest(t *testing.T) {
	r := rdmap.ReadRequest{SinkSTag: 0x01020304, SinkTO: 0x05060708090a0b0c, Size: 0x0d0e0f10, SourceSTag: 0x11121314, SourceTO: 0x15161718191a1b1c}
	want := unhex(t, "01020304 05060708090a0b0c 0d0e0f10 11121314 15161718191a1b1c")
	b := make([]byte, rdmap.ReadRequestLength)
	r.Put(b)
	require.Equal(t, want, b)
	got, err := rdmap.ParseReadRequest(b)
	require.NoError(t, err)
	require.Equal(t, r, got)
	for i := range b {
		_, err := rdmap.ParseReadRequest(b[:i])
		require.ErrorIs(t, err, rdmap.ErrShort)
	}
}

func FuzzParseReadRequest(f *testing.F) {
	f.Add(unhex(f, "01020304 05060708090a0b0c 0d0e0f10 11121314 15161718191a1b1c"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := rdmap.ParseReadRequest(b)
		if err != nil {
			require.Less(t, len(b), rdmap.ReadRequestLength)
			return
		}
		back := make([]byte, rdmap.ReadRequestLength)
		r.Put(back)
		require.Equal(t, b[:rdmap.ReadRequestLength], back)
	})
}

package collectives

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// said has calls, the source line that a member states for each call, and the text by which an error
// describes the call.
var said = map[string]struct {
	call call
	line string
	text string
}{
	"barrier": {call{op: message.Barrier}, "main.go:1", "barrier"},
	"bcast":   {call{op: message.Bcast, Call: message.Call{Root: 3}, kind: kernel.Float64, bytes: 8}, "main.go:22", "bcast of 8 bytes of float64, root 3"},
	"reduce":  {call{op: message.Reduce, Call: message.Call{Reduction: message.Reduction{Operator: uint8(Max) + 1}}, kind: kernel.Int32, bytes: 40}, "", "reduce of 40 bytes with Max of int32, root 0"},
	"func": {
		call{op: message.AllReduce, Call: message.Call{Reduction: message.Reduction{Operator: message.UserOperator}}, kind: kernel.Other, bytes: 1 << 40},
		"a b.go:3",
		"allreduce of 1099511627776 bytes with a Func of " + kernel.Other.String(),
	},
}

// parseStatement returns the statement that encode has encoded. From a truncated statement it returns
// the call with a shorter line. If fewer than the 16 bytes of What and Bytes are left, it fails.
func TestStatements(t *testing.T) {
	for name, c := range said {
		s := statement{Call: c.call.statement(), line: c.line}
		b := s.encode()
		got, ok := parseStatement(b)
		require.True(t, ok, name)
		require.Equal(t, s, got, name)
		require.Equal(t, c.text, describe(got.Call))
		for n := range b {
			cut, ok := parseStatement(b[:n])
			require.Equal(t, n >= statementHead, ok, "%s cut after %d bytes", name, n)
			if ok {
				require.Equal(t, s.Call, cut.Call)
				require.Equal(t, c.line[:n-statementHead], cut.line)
			} else {
				require.Zero(t, cut)
			}
		}
	}
}

// parseHistory returns the labels of the recent calls. From a truncated history it returns the
// labels that are complete.
func TestHistories(t *testing.T) {
	var r record
	var want []uint32
	for n := uint64(1); n <= recordSize+3; n++ {
		c := node.Call{What: n, Bytes: 2 * n}
		r.note(n, c, 0, nil)
		if n > 3 {
			want = append(want, label(c.Fingerprint(), n))
		}
	}
	b := r.history()
	require.Len(t, b, 4*recordSize)
	for n := range len(b) + 1 {
		got := parseHistory(b[:n])
		require.Len(t, got, n/4)
		for number, said := range got {
			require.Contains(t, want, said)
			require.EqualValues(t, number, said%labelNumbers)
		}
	}
}

// FuzzStatement parses arbitrary bytes as the answer of a member: as a statement and as a history. An
// error must be able to describe the parsed statement.
func FuzzStatement(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, statementHead))
	for _, c := range said {
		b := statement{Call: c.call.statement(), line: c.line}.encode()
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for number, said := range parseHistory(b) {
			require.Less(t, number, uint64(labelNumbers))
			require.EqualValues(t, number, said%labelNumbers)
		}
		s, ok := parseStatement(b)
		require.Equal(t, len(b) >= statementHead, ok)
		if !ok {
			return
		}
		require.Equal(t, b, s.encode())
		require.NotEmpty(t, describe(s.Call))
		e := &MismatchError{Peer: 1, Call: "barrier", PeerCall: describe(s.Call), PeerLine: s.line}
		require.Contains(t, e.Error(), "rank 1: "+describe(s.Call))
	})
}

package collectives

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
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

// parseHistory returns the entries of the recent calls. From a truncated history it returns the
// entries that are complete.
func TestHistories(t *testing.T) {
	var r record
	var want []uint64
	for n := uint64(1); n <= recordSize+3; n++ {
		c := node.Call{What: n, Bytes: 2 * n}
		r.note(n, c, 0, nil)
		if n > 3 {
			want = append(want, entry(c, n))
		}
	}
	b := r.history()
	require.Len(t, b, entrySize*recordSize)
	require.LessOrEqual(t, len(b), runtime.AnswerMax)
	for n := range len(b) + 1 {
		got := parseHistory(b[:n])
		require.Len(t, got, n/entrySize)
		for number, said := range got {
			require.Contains(t, want, said)
			require.Equal(t, number, uint32(said))
		}
	}
}

// TestRecordsAreReadAtAnyTime reads the recorded calls while another goroutine records later calls, with a call site of
// the caller, in the same slots. Each call that is found has the fields of one call. The race detector must not report
// the reads.
func TestRecordsAreReadAtAnyTime(t *testing.T) {
	var r record
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var site callsite.Site
		site.Note()
		for n := uint64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				r.note(n, node.Call{What: n, Bytes: 2 * n}, uint32(n), &site)
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	for found := 0; found < 1000; {
		latest := r.highest()
		for n := latest - min(latest, recordSize); n <= latest; n++ {
			if s, known := r.of(n % labelNumbers); known {
				require.Equal(t, statement{Call: node.Call{What: s.What, Bytes: 2 * s.What}, line: s.line, label: uint32(s.What)}, s)
				found++
			}
		}
	}
}

// recorded has calls of rank 0 and of rank 1, and whether they are different calls with one number.
var recorded = map[string]struct {
	numbers [2]uint64
	bytes   [2]uint64
	differ  bool
}{
	"equal":         {[2]uint64{5, 5}, [2]uint64{8, 8}, false},
	"different":     {[2]uint64{5, 5}, [2]uint64{8, 16}, true},
	"rank 0 ahead":  {[2]uint64{5 + labelNumbers, 5}, [2]uint64{8, 16}, false},
	"rank 1 ahead":  {[2]uint64{5, 5 + 3*labelNumbers}, [2]uint64{8, 16}, false},
	"other numbers": {[2]uint64{6, 5}, [2]uint64{8, 16}, false},
}

// A watch compares calls that have the same number, and no others, although it asks for a call by its
// number modulo labelNumbers.
func TestWatchComparesCallsOfOneNumber(t *testing.T) {
	for name, calls := range recorded {
		require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
			c := w.Comm()
			g, _, err := find(c)
			if err != nil {
				return err
			}
			g.blocking.note(calls.numbers[g.rank], node.Call{What: 1, Bytes: calls.bytes[g.rank]}, 0, nil)
			return whileTheOtherWaits(c, func() {
				_, differs := g.differsFrom(g.home, 1, &g.blocking, 0)
				require.Equal(t, calls.differ, differs, name)
			})
		}), name)
		require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
			alone, err := w.Comm().Split(w.Rank(), 0)
			if err != nil {
				return err
			}
			x, err := alone.CreateIntercomm(0, w.Comm(), 1-w.Rank(), 0)
			if err != nil {
				return err
			}
			c, err := coupled(x)
			if err != nil {
				return err
			}
			n := calls.numbers[w.Rank()]
			c.blocking.note(n, node.Call{What: n << interNumber, Bytes: calls.bytes[w.Rank()]}, 0, nil)
			return whileTheOtherWaits(w.Comm(), func() {
				c.compare(n)
				require.Equal(t, calls.differ, x.Broken(), name)
			})
		}), name)
	}
}

// whileTheOtherWaits calls fn at rank 0 of two ranks. Rank 1 waits before and after.
func whileTheOtherWaits(c *runtime.Comm, fn func()) error {
	if c.Rank() == 1 {
		err := runtime.Send(c, []int{1}, 0, 0)
		if err == nil {
			_, err = runtime.Recv(c, make([]int, 1), 0, 0)
		}
		return err
	}
	if _, err := runtime.Recv(c, make([]int, 1), 1, 0); err != nil {
		return err
	}
	fn()
	return runtime.Send(c, []int{1}, 1, 0)
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
			require.Equal(t, number, uint32(said))
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

package link_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

func reader(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

func plan() link.Plan {
	return link.Plan{
		Generations: 1, Job: "1-ab", Host: "h1", Size: 4, NodeRank: 1, Nodes: 2, OnFailure: "kill", Secret: make([]byte, link.SecretBytes),
		Dir: "/tmp", Env: link.Texts([]string{"A=\xff\x00", "B="}), Input: link.InputAll, Bind: placement.NUMA,
		Programs: []link.Program{{Path: "/bin/\xfe", Args: []link.Text{"x", ""}, Env: []link.Text{}}},
		Ranks:    []link.Rank{{Number: 1}, {Number: 3}},
	}
}

// The wire format of a frame is length, kind, body and a newline.
func TestFrameGolden(t *testing.T) {
	b := link.AppendFrame(nil, link.KindOutput, link.Target{Rank: 258, Stream: link.Stderr}.Append(nil), []byte("hi"))
	require.Equal(t, "08000000"+"0e"+"02010000"+"02"+"6869"+"0a", hex.EncodeToString(b))
	require.Equal(t, "01000000"+"18"+"0a", hex.EncodeToString(link.AppendFrame(nil, link.KindBeat)))
}

// ReadFrame returns the frame that AppendFrame has encoded. It returns io.EOF if the stream ends between
// frames, and io.ErrUnexpectedEOF if it ends within a frame.
func TestFramesRoundTripAndTruncated(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 3<<20)
	for _, body := range [][]byte{nil, {1}, link.Encode(plan()), big} {
		whole := link.AppendFrame(nil, link.KindPlan, body)
		in := reader(whole)
		k, got, err := link.ReadFrame(in)
		require.NoError(t, err)
		require.Equal(t, link.KindPlan, k)
		require.True(t, bytes.Equal(body, got))
		_, _, err = link.ReadFrame(in)
		require.Equal(t, io.EOF, err)
		step := max(1, len(whole)/100)
		for n := 0; n < len(whole); n += step {
			_, _, err := link.ReadFrame(reader(whole[:n]))
			if n == 0 {
				require.Equal(t, io.EOF, err)
			} else {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
			}
		}
	}
}

// ReadFrame returns ErrMalformed for bytes that are not a frame. It allocates little memory for an announced
// length, until the announced bytes arrive.
func TestBadFrames(t *testing.T) {
	for name, b := range map[string][]byte{
		"no kind":      {0, 0, 0, 0, 1},
		"kind 0":       {1, 0, 0, 0, 0},
		"unknown kind": {1, 0, 0, 0, 200},
		"far too long": {255, 255, 255, 255, 1},
		"no end":       {1, 0, 0, 0, 2, 0},
		"text":         []byte("Welcome to h1!\n"),
	} {
		_, _, err := link.ReadFrame(reader(b))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	// Little memory is allocated for a false length before the bytes arrive.
	require.Less(t, allocated(func() {
		_, _, err := link.ReadFrame(reader([]byte{0, 0, 0, 0x40, 1, 0}))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}), uint64(8<<20))
}

// allocated returns the number of bytes that all goroutines allocate on the heap while f runs.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// ParseTarget and ParseAmount return the values that were encoded. For values out of range, they return
// ErrMalformed.
func TestTargets(t *testing.T) {
	want := link.Target{Rank: 1 << 20, Stream: link.Stdout}
	got, rest, err := link.ParseTarget(append(want.Append(nil), 7, 8))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, []byte{7, 8}, rest)
	whole := append(want.Append(nil), link.Amount(1<<30)...)
	got, n, err := link.ParseAmount(whole)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 1<<30, n)
	for n := range whole {
		_, _, err := link.ParseAmount(whole[:n])
		require.ErrorIs(t, err, link.ErrMalformed)
	}
	for _, bad := range [][]byte{append(whole, 0), {0, 0, 0, 0x80, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 3, 1, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0, 0, 0x80}} {
		_, _, err := link.ParseAmount(bad)
		require.ErrorIs(t, err, link.ErrMalformed)
	}
}

// FuzzFrame checks that each frame which ReadFrame accepts is encoded to the same bytes.
func FuzzFrame(f *testing.F) {
	f.Add(link.AppendFrame(nil, link.KindPlan, link.Encode(plan())))
	f.Add(link.AppendFrame(nil, link.KindCredit, link.Target{Rank: 1}.Append(nil), link.Amount(5)))
	f.Add(link.AppendFrame(link.AppendFrame(nil, link.KindHello, link.Encode(link.Hello{})), link.KindExit, link.Encode(link.Exit{})))
	f.Add(link.Preamble("v1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, taken := reader(b), 0
		for {
			k, body, err := link.ReadFrame(in)
			if err != nil {
				break
			}
			again := link.AppendFrame(nil, k, body)
			require.Equal(t, b[taken:taken+len(again)], again)
			taken += len(again)
		}
	})
}

package link_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

func reader(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

func plan() link.Plan {
	return link.Plan{
		Job: "1-ab", Host: "h1", Size: 4, NodeRank: 1, Nodes: 2, OnFailure: "kill", Secret: make([]byte, link.SecretBytes),
		Dir: "/tmp", Env: link.Texts([]string{"A=\xff\x00", "B="}), Input: link.InputAll,
		Programs: []link.Program{{Path: "/bin/\xfe", Args: []link.Text{"x", ""}, Env: []link.Text{}}},
		Ranks:    []link.Rank{{Number: 1}, {Number: 3}},
	}
}

func TestFrameGolden(t *testing.T) {
	b := link.AppendFrame(nil, link.KindOutput, link.Target{Rank: 258, Stream: link.Stderr}.Append(nil), []byte("hi"))
	require.Equal(t, "08000000"+"09"+"02010000"+"02"+"6869", hex.EncodeToString(b))
	require.Equal(t, "01000000"+"13", hex.EncodeToString(link.AppendFrame(nil, link.KindBeat)))
}

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

func TestBadFrames(t *testing.T) {
	for name, b := range map[string][]byte{
		"no kind":      {0, 0, 0, 0, 1},
		"kind 0":       {1, 0, 0, 0, 0},
		"unknown kind": {1, 0, 0, 0, 200},
		"far too long": {255, 255, 255, 255, 1},
		"text":         []byte("Welcome to h1!\n"),
	} {
		_, _, err := link.ReadFrame(reader(b))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	// A length that is a lie costs no memory before the bytes are there.
	require.Less(t, testing.AllocsPerRun(1, func() {
		_, _, err := link.ReadFrame(reader([]byte{0, 0, 0, 0x40, 1, 0}))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}), 100.0)
}

func TestMessagesRoundTrip(t *testing.T) {
	got, err := link.Decode[link.Plan](link.Encode(plan()))
	require.NoError(t, err)
	require.Equal(t, plan(), got)
	require.Equal(t, []string{"A=\xff\x00", "B="}, link.Strings(got.Env), "bytes that are not UTF-8 arrive")
	hello := link.Hello{Node: [16]byte{1, 15: 2}, User: 1000, Probe: link.Probe{PID: 1, FD: 3, Nonce: make([]byte, 16)}}
	h, err := link.Decode[link.Hello](link.Encode(hello))
	require.NoError(t, err)
	require.Equal(t, hello, h)
	exit := link.Exit{Rank: 3, Status: 139, User: 1, System: 2, MaxRSSKiB: 1 << 40}
	e, err := link.Decode[link.Exit](link.Encode(exit))
	require.NoError(t, err)
	require.Equal(t, exit, e)
}

func TestMessagesOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*link.Plan){
		"short secret":     func(p *link.Plan) { p.Secret = p.Secret[1:] },
		"no ranks":         func(p *link.Plan) { p.Ranks = nil },
		"node":             func(p *link.Plan) { p.NodeRank = 2 },
		"negative node":    func(p *link.Plan) { p.NodeRank = -1 },
		"rank too large":   func(p *link.Plan) { p.Ranks[1].Number = 4 },
		"not ascending":    func(p *link.Plan) { p.Ranks[1].Number = 1 },
		"negative rank":    func(p *link.Plan) { p.Ranks[0].Number = -1 },
		"no such program":  func(p *link.Plan) { p.Ranks[0].Program = 1 },
		"negative program": func(p *link.Plan) { p.Ranks[0].Program = -1 },
		"no path":          func(p *link.Plan) { p.Programs[0].Path = "" },
		"no name":          func(p *link.Plan) { p.Programs[0].Args = nil },
		"input":            func(p *link.Plan) { p.Input = 3 },
	} {
		p := plan()
		change(&p)
		_, err := link.Decode[link.Plan](link.Encode(p))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	for _, text := range []string{"", "{", "[]", `{"Unknown":1}`, `{}`, `{"Code":0}`, `{"Code":256}`, `{"Code":1}{}`} {
		_, err := link.Decode[link.Failed]([]byte(text))
		require.ErrorIs(t, err, link.ErrMalformed, text)
	}
	for _, text := range []string{`{"Rank":-1}`, `{"Status":-1}`} {
		_, err := link.Decode[link.Exit]([]byte(text))
		require.ErrorIs(t, err, link.ErrMalformed, text)
	}
	for _, p := range []link.Probe{{}, {PID: 1, FD: -1, Nonce: make([]byte, 16)}, {PID: 1, Nonce: []byte{1}}} {
		_, err := link.Decode[link.Hello](link.Encode(link.Hello{Probe: p}))
		require.ErrorIs(t, err, link.ErrMalformed)
	}
}

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
			if target, rest, err := link.ParseTarget(body); err == nil {
				require.Equal(t, body, append(target.Append(nil), rest...))
			}
			if p, err := link.Decode[link.Plan](body); err == nil {
				q, err := link.Decode[link.Plan](link.Encode(p))
				require.NoError(t, err)
				require.Equal(t, link.Encode(p), link.Encode(q))
			}
			_, _ = link.Decode[link.Hello](body)
			_, _ = link.Decode[link.Exit](body)
		}
	})
}

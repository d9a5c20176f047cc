package link_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
	"github.com/gorun-hpc/gorun/internal/flight"
)

func hello() link.Hello {
	return link.Hello{Node: [16]byte{1, 15: 2}, User: 1000, Probe: probe(), Machine: []placement.Domain{{Node: -1, Processors: []int{0, 3}}}, Platform: "linux/amd64", Programs: []link.Digest{{Hash: []byte{1}}, {Why: "no such file"}}}
}

func probe() link.Probe { return link.Probe{PID: 1, FD: 3, Nonce: make([]byte, link.NonceBytes)} }

func started() link.Started {
	return link.Started{Ranks: []link.Process{{PID: 7, Processors: []int{0, 3}}, {PID: 8, Processors: []int{}}}}
}

// messages returns one message of each kind that decode knows.
func messages() map[string]any {
	return map[string]any{
		"greet": link.Greet{Programs: []link.Text{"/bin/\xff"}, Whole: true}, "hello": hello(), "probe": probe(), "probed": link.Probed{Why: "no such file"}, "plan": plan(), "started": started(),
		"failed": link.Failed{Code: 127, Text: "no such file"}, "next": next(), "renewed": link.Renewed{Ranks: []link.Restarted{{Number: 1, Process: link.Process{PID: 4, Processors: []int{0}}, Warm: true}}},
		"spare": link.Spare{Program: 1}, "spare ended": link.SpareEnded{Program: 1, Text: "was killed"},
		"look": link.Look{Number: 2, Silent: []int{1}, Whole: []int{0, 3}}, "seen": seen(),
		"exit": link.Exit{Rank: 3, Status: 139, User: 1, System: 2, MaxRSSKiB: 1 << 40},
	}
}

func seen() link.Seen {
	return link.Seen{Number: 2, Records: []link.Record{
		{Rank: 1, Time: time.Unix(5, 0).UTC(), Counts: flight.Counts{Messages: 3, Bytes: 24, Waited: time.Second}, Last: []string{"send"}},
		{Rank: 3, Log: &flight.Log{Messages: []flight.Operation{{Number: 7, Op: "send", State: flight.Done}}}},
	}}
}

// Decode refuses a record of a rank whose fields are out of range.
func TestRecordsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(*link.Record){
		"rank":       func(r *link.Record) { r.Rank = -1 },
		"lines":      func(r *link.Record) { r.Last = make([]string, 17) },
		"bytes":      func(r *link.Record) { r.Last = []string{strings.Repeat("x", 513)} },
		"messages":   func(r *link.Record) { r.Log = &flight.Log{Messages: make([]flight.Operation, flight.Slots+1)} },
		"operations": func(r *link.Record) { r.Log = &flight.Log{Operations: make([]flight.Operation, flight.Slots+1)} },
	} {
		s := seen()
		change(&s.Records[1])
		_, err := link.Decode[link.Seen](link.Encode(s))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
}

func next() link.Next {
	return link.Next{
		Generation: 2, Lost: []int{1, 3}, Cause: "was killed", Nodes: 2, Parts: []link.Part{
			{Ranks: []int{0, 1}, Starts: []link.Start{{Rank: link.Rank{Number: 1}, Epoch: 1}}}, {NodeRank: 1, Ranks: []int{2, 3}},
		},
	}
}

// Decode refuses a Next or Renewed whose fields are out of range.
func TestNextOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*link.Next){
		"generation": func(n *link.Next) { n.Generation = 0 },
		"nodes":      func(n *link.Next) { n.Nodes = 0 },
		"no loss":    func(n *link.Next) { n.Lost = nil },
		"node":       func(n *link.Next) { n.Parts[1].NodeRank = 2 },
		"order":      func(n *link.Next) { n.Parts[0].Ranks = []int{1, 0} },
		"negative":   func(n *link.Next) { n.Parts[0].Ranks = []int{-1} },
		"program":    func(n *link.Next) { n.Parts[0].Starts[0].Program = -1 },
		"epoch":      func(n *link.Next) { n.Parts[0].Starts[0].Epoch = 0 },
	} {
		n := next()
		change(&n)
		_, err := link.Decode[link.Next](link.Encode(n))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	for name, r := range map[string]link.Renewed{
		"rank":    {Ranks: []link.Restarted{{Number: -1, Process: link.Process{PID: 1}}}},
		"process": {Ranks: []link.Restarted{{Number: 1}}},
		"code":    {Failed: &link.Failed{}},
	} {
		_, err := link.Decode[link.Renewed](link.Encode(r))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
}

// decode decodes a body as a message of the given kind.
func decode(kind string, body []byte) (any, error) {
	switch kind {
	case "greet":
		return link.Decode[link.Greet](body)
	case "hello":
		return link.Decode[link.Hello](body)
	case "probe":
		return link.Decode[link.Probe](body)
	case "probed":
		return link.Decode[link.Probed](body)
	case "plan":
		return link.Decode[link.Plan](body)
	case "started":
		return link.Decode[link.Started](body)
	case "failed":
		return link.Decode[link.Failed](body)
	case "next":
		return link.Decode[link.Next](body)
	case "spare":
		return link.Decode[link.Spare](body)
	case "spare ended":
		return link.Decode[link.SpareEnded](body)
	case "look":
		return link.Decode[link.Look](body)
	case "seen":
		return link.Decode[link.Seen](body)
	case "renewed":
		return link.Decode[link.Renewed](body)
	default:
		return link.Decode[link.Exit](body)
	}
}

// Each message survives encoding and decoding, and Decode refuses truncated or repeated bodies.
// Text that is not UTF-8 arrives unchanged.
func TestMessagesRoundTripAndTruncated(t *testing.T) {
	for kind, m := range messages() {
		whole := link.Encode(m)
		got, err := decode(kind, whole)
		require.NoError(t, err, kind)
		require.Equal(t, m, got)
		for n := range whole {
			_, err := decode(kind, whole[:n])
			require.ErrorIs(t, err, link.ErrMalformed, "%d bytes of %s", n, kind)
		}
		_, err = decode(kind, append(bytes.Clone(whole), whole...))
		require.ErrorIs(t, err, link.ErrMalformed, "two %ss", kind)
	}
	require.Equal(t, []string{"A=\xff\x00", "B="}, link.Strings(plan().Env), "bytes that are not UTF-8 arrive")
}

// Decode refuses messages whose fields are out of range or unknown.
func TestMessagesOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*link.Plan){
		"short secret":     func(p *link.Plan) { p.Secret = p.Secret[1:] },
		"no ranks":         func(p *link.Plan) { p.Ranks = nil },
		"generations":      func(p *link.Plan) { p.Generations = 0 },
		"spares":           func(p *link.Plan) { p.Spares = []int{-1} },
		"spares of two":    func(p *link.Plan) { p.Spares = []int{1, 0} },
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
		"input rank":       func(p *link.Plan) { p.InputRank = 4 },
		"no input rank":    func(p *link.Plan) { p.InputRank = -1 },
		"binding":          func(p *link.Plan) { p.Bind = "socket" },
	} {
		p := plan()
		change(&p)
		_, err := link.Decode[link.Plan](link.Encode(p))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	for name, bad := range map[string]link.Probe{
		"no process":          {FD: 3, Nonce: make([]byte, link.NonceBytes)},
		"negative descriptor": {PID: 1, FD: -1, Nonce: make([]byte, link.NonceBytes)},
		"short nonce":         {PID: 1, Nonce: []byte{1}},
	} {
		_, err := decode("probe", link.Encode(bad))
		require.ErrorIs(t, err, link.ErrMalformed, name)
		_, err = decode("hello", link.Encode(link.Hello{Probe: bad}))
		require.ErrorIs(t, err, link.ErrMalformed, name)
	}
	for kind, texts := range map[string][]string{
		"failed":  {"", "{", "[]", `{"Unknown":1}`, `{}`, `{"Code":0}`, `{"Code":256}`, `{"Code":1}{}`},
		"exit":    {`{"Rank":-1}`, `{"Status":-1}`, `{"Status":4991}`, `{"Status":65535}`, `{"Status":127}`},
		"started": {`{"Ranks":[{"PID":0}]}`, `{"Ranks":[{"PID":1},{"PID":-5}]}`, `{"Ranks":[{"PID":1,"Processors":[-1]}]}`},
		"probed":  {`{"Why":"","Unknown":1}`},
		"spare":   {`{"Program":-1}`}, "spare ended": {`{"Program":-1,"Text":"x"}`},
		"hello": {
			`{"User":-1,"Probe":{"PID":1,"FD":0,"Nonce":"AAAAAAAAAAAAAAAAAAAAAA=="}}`,
			`{"Probe":{"PID":1,"FD":0,"Nonce":"AAAAAAAAAAAAAAAAAAAAAA=="},"Machine":[{"Node":0,"Processors":[]}]}`,
			`{"Probe":{"PID":1,"FD":0,"Nonce":"AAAAAAAAAAAAAAAAAAAAAA=="},"Machine":[{"Node":-2,"Processors":[1]}]}`,
			`{"Probe":{"PID":1,"FD":0,"Nonce":"AAAAAAAAAAAAAAAAAAAAAA=="},"Machine":[{"Node":0,"Processors":[-1,1]}]}`,
			`{"Probe":{"PID":1,"FD":0,"Nonce":"AAAAAAAAAAAAAAAAAAAAAA=="},"Machine":[{"Node":0,"Processors":[2,1]}]}`,
		},
	} {
		for _, text := range texts {
			_, err := decode(kind, []byte(text))
			require.ErrorIs(t, err, link.ErrMalformed, "%s %s", kind, text)
		}
	}
}

// FuzzMessage checks that a body is refused with ErrMalformed, or decodes to a message that
// survives another encoding.
func FuzzMessage(f *testing.F) {
	kinds := slices.Sorted(maps.Keys(messages()))
	for kind, m := range messages() {
		f.Add(uint8(slices.Index(kinds, kind)), link.Encode(m))
	}
	f.Add(uint8(slices.Index(kinds, "exit")), []byte(`{"Rank":1,"Status":4991}`))
	f.Add(uint8(slices.Index(kinds, "started")), []byte(`{"Ranks":[{"PID":0}]}`))
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		kind := kinds[int(number)%len(kinds)]
		m, err := decode(kind, body)
		if err != nil {
			require.ErrorIs(t, err, link.ErrMalformed)
			return
		}
		again, err := decode(kind, link.Encode(m))
		require.NoError(t, err)
		require.Equal(t, link.Encode(m), link.Encode(again))
	})
}

// FuzzTarget checks that values which ParseTarget and ParseAmount accept are encoded to the same bytes.
func FuzzTarget(f *testing.F) {
	whole := append(link.Target{Rank: 1 << 20, Stream: link.Stderr}.Append(nil), link.Amount(5)...)
	for n := range len(whole) + 1 {
		f.Add(whole[:n])
	}
	f.Add([]byte{0, 0, 0, 0x80, 0, 0, 0, 0, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		target, rest, err := link.ParseTarget(b)
		if err != nil {
			require.ErrorIs(t, err, link.ErrMalformed)
		} else {
			require.Equal(t, b, append(target.Append(nil), rest...))
		}
		same, n, err := link.ParseAmount(b)
		if err != nil {
			require.ErrorIs(t, err, link.ErrMalformed)
			return
		}
		require.Equal(t, target, same)
		require.Equal(t, b, append(target.Append(nil), link.Amount(n)...))
	})
}

package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// mirror is a transport with little cost. Frames that are sent to a peer arrive from the same
// peer through a small ring.
type mirror struct {
	headers [256]transport.Header
	bytes   [256][64]byte
	lengths [256]int
	r, w    uint
}

func (m *mirror) Name() string                                { return "mirror" }
func (m *mirror) Reach(int) error                             { return nil }
func (m *mirror) Endpoint(int) (transport.Endpoint, error)    { return m, nil }
func (m *mirror) Arm() bool                                   { return m.r == m.w }
func (m *mirror) Disarm()                                     {}
func (m *mirror) Conceal(transport.Key) error                 { return nil }
func (m *mirror) MarkDown(int, error)                         {}
func (m *mirror) GiveUp(int, error)                           {}
func (m *mirror) Close() error                                { return nil }
func (m *mirror) Get([]byte, transport.Key, uint64) error     { return transport.ErrNotSupported }
func (m *mirror) Put([]byte, transport.Key, uint64) error     { return transport.ErrNotSupported }
func (m *mirror) FetchAdd(_ transport.Key, _, _ uint64) error { return transport.ErrNotSupported }
func (m *mirror) Map(transport.Key, int) ([]byte, error)      { return nil, transport.ErrNotSupported }

func (m *mirror) Caps() transport.Caps { return transport.Caps{MaxEager: 64, EagerBest: 64} }

func (m *mirror) Expose([]byte, transport.Access) (transport.Key, error) {
	return transport.Key{}, transport.ErrNotSupported
}

func (m *mirror) Send(h transport.Header, b []byte) error {
	if m.w-m.r == 256 {
		return transport.ErrAgain
	}
	i := m.w & 255
	m.headers[i], m.lengths[i] = h, copy(m.bytes[i][:], b)
	m.w++
	return nil
}

func (m *mirror) Poll(h transport.Handler, budget int) (int, error) {
	n := 0
	for ; n < budget && m.r != m.w; n++ {
		i := m.r & 255
		h.Arrive(1, m.headers[i], m.bytes[i][:m.lengths[i]])
		m.r++
	}
	return n, nil
}

func newMirrored(tb testing.TB) *engine.Engine {
	tb.Helper()
	m := new(mirror)
	e, err := engine.New(engine.Config{
		Size: 2, Route: func(int) transport.Transport { return m }, Transports: []transport.Transport{m},
		Wait: engine.WaitPolicy{Spin: 20 * time.Microsecond, Yield: 100 * time.Microsecond},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { e.Close() })
	return e
}

// BenchmarkOverhead measures the time that the engine adds to sending and receiving a message.
func BenchmarkOverhead(b *testing.B) {
	e := newMirrored(b)
	buf := make([]byte, 8)
	b.ReportAllocs()
	for b.Loop() {
		if e.Send(none, engine.Match{Peer: 1, Tag: 1}, 0, buf, engine.Standard) != nil {
			b.Fatal()
		}
		if _, err := e.Recv(none, engine.Match{Peer: 1, Tag: 1}, 0, buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWindow measures the same time as BenchmarkOverhead, with 64 nonblocking operations in
// progress.
func BenchmarkWindow(b *testing.B) {
	e := newMirrored(b)
	buf := make([]byte, 8)
	var rs, ss [64]engine.Handle
	b.ReportAllocs()
	for b.Loop() {
		for i := range rs {
			rs[i] = e.Irecv(engine.Match{Peer: 1, Tag: 1}, 0, buf)
		}
		for i := range ss {
			ss[i] = e.Isend(engine.Match{Peer: 1, Tag: 1}, 0, buf, engine.Standard)
		}
		for i := range ss {
			if _, err := ss[i].Wait(none); err != nil {
				b.Fatal(err)
			}
		}
		for i := range rs {
			if _, err := rs[i].Wait(none); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/msg")
}

func TestSmallMessagesDoNotAllocate(t *testing.T) {
	e := newMirrored(t)
	buf := make([]byte, 8)
	m := engine.Match{Peer: 1, Tag: 1}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		e.Send(none, m, 0, buf, engine.Standard)
		e.Recv(none, m, 0, buf)
	}), "Send and Recv")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		r := e.Irecv(m, 0, buf)
		s := e.Isend(m, 0, buf, engine.Standard)
		s.Wait(none)
		r.Wait(none)
	}), "Isend, Irecv and Wait")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		e.Send(none, m, 0, buf, engine.Standard)
		for {
			if _, ok, _ := e.Iprobe(m); ok {
				break
			}
		}
		e.Recv(none, m, 0, buf)
	}), "unexpected")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		r := e.Isend(m, 0, buf, engine.Synchronous)
		e.Recv(none, m, 0, buf)
		r.Wait(none)
	}), "synchronous")
}

package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// wire models a send queue of package verbs and the device below it. It implements only the methods that
// signals uses.
type wire struct {
	provider.Sends
	tb       testing.TB
	requests map[uint64]*provider.Request
	// carried holds the requests that the device has carried out and that are not reported yet.
	carried     map[uint64]bool
	next        uint64
	completions int
}

func newWire(tb testing.TB) *wire {
	tb.Helper()
	return &wire{tb: tb, requests: map[uint64]*provider.Request{}, carried: map[uint64]bool{}}
}

func (w *wire) post(r provider.Request) *provider.Request {
	r.Number = w.next
	w.next++
	w.requests[r.Number] = &r
	return &r
}

// At implements provider.Sends.
func (w *wire) At(number uint64) *provider.Request {
	r := w.requests[number]
	require.NotNil(w.tb, r, "request %d is done or not posted", number)
	return r
}

// Done implements provider.Sends. Numbers start again from 0 when all requests are done.
func (w *wire) Done(r *provider.Request) {
	require.True(w.tb, w.carried[r.Number], "request %d is under way", r.Number)
	require.Same(w.tb, w.requests[r.Number], r)
	delete(w.requests, r.Number)
	delete(w.carried, r.Number)
	if len(w.requests) == 0 {
		w.next = 0
	}
}

// complete handles a completion in the same way as queuePair.sent.
func (w *wire) complete(number uint64) {
	w.completions++
	r := w.At(number)
	doneBefore(w, r)
	w.Done(r)
}

// TestSignals makes a device carry out requests in random permitted orders. The test checks that each request
// is reported once, after the device has carried it out. It also checks that a full queue always contains a
// signalled request, so that a completion will come.
func TestSignals(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 12))
		depth := 1 + r.IntN(20)
		readsLate := seed%2 == 0 // siw may complete Reads late
		s, w := signalsOf(depth), newWire(t)
		type entry struct {
			number          uint64
			read, signalled bool
		}
		var queue []entry
		carry := func() {
			// The device carries out the oldest request. If readsLate is true, the device may, like siw, carry
			// out a later request before a Read.
			at := 0
			for readsLate && at < len(queue)-1 && queue[at].read && r.IntN(2) == 0 {
				at++
			}
			if queue[at].read && at > 0 {
				at = 0 // Reads keep their order
			}
			e := queue[at]
			queue = append(queue[:at], queue[at+1:]...)
			w.carried[e.number] = true
			if e.signalled {
				s.underWay--
				w.complete(e.number)
			}
		}
		for range 500 {
			if len(w.requests) == depth || len(queue) > 0 && r.IntN(2) == 0 {
				require.NotEmpty(t, queue, "the queue is full and nothing comes")
				carry()
				continue
			}
			p := provider.Request{Op: []provider.Opcode{provider.OpSend, provider.OpWrite, provider.OpRead}[r.IntN(3)]}
			if r.IntN(8) > 0 {
				p.Flags = provider.FlagUnsignalled
			}
			q := w.post(p)
			flags := s.flagsOf(q)
			require.True(t, flags == uverbs.FlagSignalled || q.Flags&provider.FlagUnsignalled != 0)
			queue = append(queue, entry{q.Number, q.Op.Reads(), flags == uverbs.FlagSignalled})
		}
		for len(queue) > 0 {
			carry()
		}
		require.Zero(t, s.underWay)
		require.Len(t, w.requests, s.silent)
		require.Less(t, s.silent, depth, "flush has room")
		if s.silent > 0 { // as if the empty Write that flush posts had completed
			w.complete(s.last)
		}
		require.Empty(t, w.requests)
	}
}

// TestSignalsWhileDraining checks that an unsignalled request is made signalled while the queue pair drains,
// because no later request would report it.
func TestSignalsWhileDraining(t *testing.T) {
	s := signalsOf(100)
	quiet := &provider.Request{Op: provider.OpSend, Flags: provider.FlagUnsignalled}
	require.Zero(t, s.flagsOf(quiet))
	s.draining = true
	require.Equal(t, uverbs.FlagSignalled, s.flagsOf(quiet))
	require.Zero(t, s.silent)
}

// TestCompletionsPerMessage posts messages of which every eighth is signalled, as package rdma does. The test
// checks that the device makes one completion for eight messages.
func TestCompletionsPerMessage(t *testing.T) {
	const messages, each = 1000, 8
	s, w := signalsOf(64), newWire(t)
	for n := 1; n <= messages; n++ {
		p := provider.Request{Op: provider.OpSend}
		if n%each != 0 {
			p.Flags = provider.FlagUnsignalled
		}
		q := w.post(p)
		w.carried[q.Number] = true
		if s.flagsOf(q) != 0 {
			w.complete(q.Number)
		}
	}
	require.Equal(t, messages/each, w.completions)
	require.Empty(t, w.requests)
}

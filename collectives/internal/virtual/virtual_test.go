package virtual_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// alpha, beta and gamma are parameters in nanoseconds. They differ, so that a test detects a result that is computed
// from the wrong one of them.
const (
	alpha = 1000
	beta  = 0.5
	gamma = 0.25
)

// sum is the reduction of these tests.
var sum = message.Reduction{Fn: kernel.Of(kernel.Sum, kernel.Uint64), Elem: 8, Commutative: true}

// simulate runs body on a model and requires that it succeeds.
func simulate(t *testing.T, ranks int, m virtual.Model, body func(r *virtual.Rank) error) *virtual.Result {
	t.Helper()
	res, err := virtual.Run(virtual.Setup{Ranks: ranks, Model: m, Payload: true}, body)
	require.NoError(t, err)
	return res
}

// nanoseconds converts a time to the unit of the models.
func nanoseconds(t virtual.Time) float64 { return float64(t) / 1000 }

// between returns a body in which a rank sends n bytes to another rank.
func between(from, to, n int) func(r *virtual.Rank) error {
	return func(r *virtual.Rank) error {
		switch r.Rank() {
		case from:
			return r.Send(to, make([]byte, n))
		case to:
			return r.Recv(from, make([]byte, n))
		}
		return nil
	}
}

// started sends n bytes to rank 1 by an exchange that only sends at one end and only receives at the other.
func started(r *virtual.Rank, n int) error {
	b := make([]byte, n)
	if r.Rank() == 0 {
		return errors.Join(r.Start(1, b, message.Nobody, nil), r.Complete())
	}
	return errors.Join(r.Start(message.Nobody, nil, 0, b), r.Complete())
}

// TestMessages compares the costs of one message, and of messages that contend, with costs
// computed by hand.
func TestMessages(t *testing.T) {
	const n = 1000
	send := between(0, 1, n)
	// In incast, all ranks except the last send to the last rank.
	incast := func(r *virtual.Rank) error {
		last := r.Size() - 1
		if r.Rank() < last {
			return r.Send(last, make([]byte, n))
		}
		for from := range last {
			if err := r.Recv(from, make([]byte, n)); err != nil {
				return err
			}
		}
		return nil
	}
	exchange := func(r *virtual.Rank) error {
		peer := r.Rank() ^ 1
		return r.Exchange(peer, make([]byte, n), peer, make([]byte, n))
	}
	two := func(r *virtual.Rank) error { return errors.Join(send(r), send(r)) }
	level := func(s virtual.Segment) virtual.Model { return virtual.Model{Network: virtual.Level{s}} }
	wire := virtual.Segment{Latency: alpha, PerByte: beta}
	busy := virtual.Segment{Latency: alpha, PerByte: beta, Overhead: 100, SendPerByte: 2, RecvPerByte: 3}
	announced := virtual.Segment{Latency: alpha, PerByte: beta, Rendezvous: true, Handshake: 30}
	node := virtual.Model{RanksPerNode: 2, Node: virtual.Level{{Latency: 10}}, Network: virtual.Level{wire}}
	shared := virtual.Model{RanksPerNode: 4, Processors: 1, Visit: 3, VisitPerRank: 1, Node: virtual.Level{{Overhead: 100}}, Network: virtual.Level{wire}}
	// Ranks 0 and 2 share a processor, and ranks 1 and 3 the other one.
	near := virtual.Model{RanksPerNode: 4, Processors: 2, Node: virtual.Level{{Overhead: 100}}, Processor: virtual.Level{{Overhead: 20}}, Network: virtual.Level{wire}}
	for _, c := range []struct {
		name  string
		ranks int
		model virtual.Model
		body  func(r *virtual.Rank) error
		want  float64
	}{
		{"a message", 2, level(wire), send, alpha + n*beta},
		{"two messages", 2, level(wire), two, alpha + 2*n*beta},
		{"a gap between them", 2, level(virtual.Segment{Latency: alpha, PerByte: beta, Gap: 700}), two, 700 + alpha + n*beta},
		{"processor time at both ends", 2, level(busy), send, 100 + 2*n + alpha + n*beta + 100 + 3*n},
		{"both ways at once", 2, level(wire), exchange, alpha + n*beta},
		{"one way, started", 2, level(wire), func(r *virtual.Rank) error { return started(r, n) }, alpha + n*beta},
		{"five into one", 6, level(wire), incast, alpha + 5*n*beta},
		{"one to two", 3, level(wire), func(r *virtual.Rank) error {
			if r.Rank() > 0 {
				return r.Recv(0, make([]byte, n))
			}
			return errors.Join(r.Send(1, make([]byte, n)), r.Send(2, make([]byte, n)))
		}, alpha + 2*n*beta},
		{"a rendezvous", 2, level(announced), send, alpha + 30 + alpha + n*beta + alpha},
		{"a rendezvous both ways", 2, level(announced), exchange, alpha + 30 + alpha + n*beta + alpha},
		{"two rendezvous", 2, level(announced), two, 2 * (3*alpha + 30 + n*beta)},
		{"on a node", 2, node, send, 10},
		{"to a rank of the same processor", 4, near, between(0, 1, n), 40},
		{"to a rank of another processor", 4, near, between(0, 2, n), 200},
		{"one of two nodes to the other by one link", 4, node, func(r *virtual.Rank) error {
			if r.Rank() < 2 {
				return r.Send(r.Rank()+2, make([]byte, n))
			}
			return r.Recv(r.Rank()-2, make([]byte, n))
		}, alpha + 2*n*beta},
		{"on a node and beyond it at the same time", 3, node, func(r *virtual.Rank) error {
			switch r.Rank() {
			case 0:
				return errors.Join(r.Send(2, make([]byte, n)), r.Send(1, make([]byte, n)))
			default:
				return r.Recv(0, make([]byte, n))
			}
		}, alpha + n*beta},
		// Rank 0 works for 100 ns. The processor visits rank 1 at 107 ns, and rank 1 works for
		// 100 ns. Ranks 2 and 3 end when the processor visits them.
		{"a processor for four, rank 0 sends", 4, shared, func(r *virtual.Rank) error {
			if r.Rank() > 1 {
				return nil
			}
			return send(r)
		}, 100 + 7 + 100 + 7 + 7},
		// Until rank 2 has answered at 314 ns, the case is like the previous one. Then the
		// processor passes rank 3 and reaches rank 0 at 328 ns. Rank 0 receives and sends until
		// 528 ns. Then the processor passes rank 1.
		{"a processor for four, two in a dialogue", 4, shared, func(r *virtual.Rank) error {
			switch r.Rank() {
			case 0:
				return errors.Join(r.Send(2, nil), r.Recv(2, nil), r.Send(2, nil))
			case 2:
				return errors.Join(r.Recv(0, nil), r.Send(0, nil), r.Recv(0, nil))
			}
			return nil
		}, 528 + 2*7 + 100},
		// Rank 3 sends from 21 ns to 121 ns. The processor visits rank 0 next.
		{"a processor for four, rank 3 sends", 4, shared, func(r *virtual.Rank) error {
			switch r.Rank() {
			case 3:
				return r.Send(0, nil)
			case 0:
				return r.Recv(3, nil)
			}
			return nil
		}, 21 + 100 + 7 + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := simulate(t, c.ranks, c.model, c.body)
			require.InDelta(t, c.want, nanoseconds(got.Time), 1e-9)
		})
	}
}

// TestSegments checks that a segment applies to lengths up to its field Most, this length included.
func TestSegments(t *testing.T) {
	m := virtual.Model{Network: virtual.Level{{Most: 8, Latency: 1}, {Most: 64, Latency: 2}, {Latency: 3}}}
	for n, want := range map[int]float64{0: 1, 8: 1, 9: 2, 64: 2, 65: 3, 1 << 20: 3} {
		got := simulate(t, 2, m, func(r *virtual.Rank) error {
			if r.Rank() == 0 {
				return r.Send(1, make([]byte, n))
			}
			return r.Recv(0, make([]byte, n))
		})
		require.InDelta(t, want, nanoseconds(got.Time), 1e-9, n)
	}
}

// TestWork checks that the work of a rank advances only the time of this rank.
func TestWork(t *testing.T) {
	m := virtual.Model{Combine: gamma, Copy: 2, Network: virtual.Level{{}}}
	got := simulate(t, 2, m, func(r *virtual.Rank) error {
		if r.Rank() == 1 {
			return nil
		}
		b := []byte{7, 0, 0, 0, 0, 0, 0, 0}
		c := make([]byte, 16)
		require.Equal(t, 8, r.Copy(c, b))
		require.Equal(t, 8, r.Copy(b, b), "the same memory costs nothing")
		r.Reduction(sum).Fn(b, b, c[:8])
		require.Equal(t, byte(14), b[0])
		require.Len(t, r.Scratch(12), 12)
		require.Equal(t, []byte{0xee, 0xee}, r.Scratch(2), "it counts on nothing")
		return nil
	})
	require.InDelta(t, 8*2+8*gamma, nanoseconds(got.Time), 1e-9)
	require.InDelta(t, (8*2+8*gamma)/2, nanoseconds(got.Mean), 1e-9)
	require.Equal(t, virtual.Cost{Copied: 8, Combined: 8, Steps: 2, Scratch: 12, Busy: got.Time}, got.Busiest)
}

// TestDeterminism checks that the same setup gives the same result when ranks contend for every
// resource.
func TestDeterminism(t *testing.T) {
	m := virtual.Model{
		RanksPerNode: 5, Processors: 2, Visit: 3, Combine: 0.1, Copy: 0.1,
		Node:    virtual.Level{{Most: 100, Latency: 50, Overhead: 20, RecvPerByte: 0.1}, {Latency: 60, Overhead: 25, Rendezvous: true, Handshake: 5}},
		Network: virtual.Level{{Most: 1000, Latency: 900, PerByte: 0.3, Overhead: 70, Gap: 30}, {Latency: 1100, PerByte: 0.2, Overhead: 90, Rendezvous: true}},
	}
	body := func(r *virtual.Rank) error {
		size := r.Size()
		for _, n := range []int{8, 800, 8000} {
			for k := 1; k < size; k++ {
				b, c := make([]byte, n/k*8), make([]byte, n/k*8)
				if err := r.Exchange((r.Rank()+k)%size, b, (r.Rank()-k+size)%size, c); err != nil {
					return err
				}
				r.Reduction(sum).Fn(b, b, c)
				if r.Rank() == k {
					r.Copy(b, c)
				}
			}
		}
		return nil
	}
	first := simulate(t, 33, m, body)
	require.Positive(t, first.Time)
	for range 5 {
		require.Equal(t, first, simulate(t, 33, m, body))
	}
}

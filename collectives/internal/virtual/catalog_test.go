package virtual_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/message/messagetest"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

// ranksMax is the size of the largest group in which algorithms are tested: one more than a power
// of two.
const ranksMax = 257

// crowd is the number of ranks above which only every second case is tested.
const crowd = 33

// groups returns the tested sizes of groups. With GORUN_SOAK it returns all sizes up to ranksMax.
func groups() []int {
	if os.Getenv("GORUN_SOAK") == "" {
		return []int{1, 2, 3, 4, 5, 7, 8, 12, 31}
	}
	all := make([]int, ranksMax)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// nodes is a model with two levels and shared processors. Its messages and ranks run in another
// order than those of a model where all ranks are equal. Every message of more than 16 bytes waits
// for its receiver.
var nodes = virtual.Model{
	RanksPerNode: 3, Processors: 2, Visit: 10, Copy: 0.1, Combine: 0.1,
	Node:    virtual.Level{{Most: 16, Latency: 100, Overhead: 30}, {Latency: 150, Overhead: 50, Rendezvous: true}},
	Network: virtual.Level{{Most: 16, Latency: 2000, PerByte: 7, Overhead: 100, Gap: 50}, {Latency: 2500, PerByte: 5, Rendezvous: true, Handshake: 10}},
}

// TestCatalog checks that every algorithm ends and gives the result of a loop over the ranks,
// also if every message waits for its receiver.
func TestCatalog(t *testing.T) {
	waits := virtual.Model{Network: virtual.Level{{Latency: alpha, PerByte: beta, Rendezvous: true}}}
	for _, a := range message.Algorithms() {
		t.Run(a.Operation.String()+" "+a.Name, func(t *testing.T) {
			for _, ranks := range groups() {
				// Three elements, and in turn zero, one, or more elements than ranks.
				elements := []int{3, []int{0, 1, ranks + 1}[ranks%3]}
				if ranks > crowd {
					elements = elements[ranks%2:][:1]
				}
				for _, n := range elements {
					cases := messagetest.Cases(&a, ranks, n)
					for i, k := range cases {
						if ranks > crowd && len(cases) > 1 && (i+ranks/2)%2 == 0 {
							continue
						}
						prove(t, &a, k, []virtual.Model{waits, nodes, uniform}[(i+ranks)%3])
						if ranks <= crowd {
							prove(t, &a, k, waits)
						}
					}
				}
			}
		})
	}
}

// prove runs a case with payload and compares the results.
func prove(t *testing.T, a *message.Algorithm, k messagetest.Case, m virtual.Model) {
	t.Helper()
	_, err := virtual.Run(virtual.Setup{Ranks: k.Ranks, Model: m, Payload: true}, func(r *virtual.Rank) error {
		c := k.Call(r.Rank())
		c.Reduction = r.Reduction(c.Reduction)
		return errors.Join(a.Run(r, c), k.Check(r.Rank(), c))
	})
	require.NoError(t, err, k)
}

// TestCatalogWithoutPayload checks that algorithms access their buffers only through their Peer
// and their Reduction. Any other access would fail with ErrTouched, because the buffers have no memory.
func TestCatalogWithoutPayload(t *testing.T) {
	for _, a := range message.Algorithms() {
		for _, ranks := range []int{1, 2, 4, 7, 16} {
			for _, k := range messagetest.Cases(&a, ranks, 5) {
				setup := virtual.Setup{Ranks: ranks, Model: nodes}
				_, err := virtual.Run(setup, func(r *virtual.Rank) error { return a.Run(r, without(r, k)) })
				require.NoError(t, err, "%s: %v", a.Name, k)
			}
		}
	}
}

// without returns the arguments of a case in address space that has no memory.
func without(r *virtual.Rank, k messagetest.Case) *message.Call {
	c := k.Call(r.Rank())
	c.Send, c.Recv = r.Argument(0, len(c.Send)), r.Argument(1, len(c.Recv))
	c.Reduction = r.Reduction(c.Reduction)
	return c
}

// TestAlone checks that ranks that run alone, one after the other, have the same numbers of messages, steps and bytes
// of scratch memory as ranks that run together.
func TestAlone(t *testing.T) {
	const ranks = 13
	for _, a := range message.Algorithms() {
		if a.Limits&message.Learns != 0 {
			continue
		}
		for _, k := range messagetest.Cases(&a, ranks, 5) {
			setup := virtual.Setup{Ranks: ranks, Model: uniform}
			body := func(r *virtual.Rank) error { return a.Run(r, without(r, k)) }
			all, err := virtual.Run(setup, body)
			require.NoError(t, err)
			sum, most := 0, virtual.Cost{}
			for rank := range ranks {
				c, err := virtual.Alone(setup, rank, body)
				require.NoError(t, err)
				sum += c.Sent
				most.Sent, most.Scratch, most.Steps = max(most.Sent, c.Sent), max(most.Scratch, c.Scratch), max(most.Steps, c.Steps)
			}
			require.Equal(t, all.Messages, sum, k)
			b := all.Busiest
			require.Equal(t, virtual.Cost{Sent: b.Sent, Scratch: b.Scratch, Steps: b.Steps}, most, k)
		}
	}
	_, err := virtual.Alone(virtual.Setup{Ranks: 2, Model: uniform}, 2, nil)
	require.EqualError(t, err, "rank 2 of 2 does not exist")
	_, err = virtual.Alone(virtual.Setup{Ranks: 2, Model: uniform}, 0, func(r *virtual.Rank) error { return r.Send(2, nil) })
	require.ErrorContains(t, err, "rank 0 sends to rank 2 of 2")
}

// TestBarriers checks that no rank leaves a barrier before all ranks have entered it.
func TestBarriers(t *testing.T) {
	for _, a := range message.Algorithms() {
		if a.Operation != message.Barrier {
			continue
		}
		for _, ranks := range groups() {
			entered, left := make([]virtual.Time, ranks), make([]virtual.Time, ranks)
			for _, late := range []int{0, ranks / 2, ranks - 1} {
				simulate(t, ranks, virtual.Model{Copy: 1, Network: uniform.Network}, func(r *virtual.Rank) error {
					if r.Rank() == late { // a long copy delays the rank
						r.Copy(make([]byte, 1e6), make([]byte, 1e6))
					}
					entered[r.Rank()] = r.Now()
					err := a.Run(r, &message.Call{})
					left[r.Rank()] = r.Now()
					return err
				})
				require.GreaterOrEqual(t, slices.Min(left), slices.Max(entered), "%s of %d ranks, %d is late", a.Name, ranks, late)
			}
		}
	}
}

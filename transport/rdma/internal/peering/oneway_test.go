package peering_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestOneWayNetwork has both ranks want a connection while the requests of one rank are lost, as behind a
// firewall. The test checks that a request of the other rank succeeds before either rank gives up, even if the
// lost requests would have precedence.
func TestOneWayNetwork(t *testing.T) {
	for reaching := range 2 { // the rank whose requests arrive
		for seed := range uint64(200) {
			var m [2]*peering.Machine
			for s := range m {
				m[s] = peering.New(peering.Config{Rank: uint32(s), Peer: uint32(1 - s), Random: rand.NewPCG(seed, uint64(s))})
			}
			now, passive := time.Duration(0), uint32(0)
			var step func(s int, e peering.Event)
			step = func(s int, e peering.Event) {
				for _, a := range m[s].Step(now, e, nil) {
					require.NotEqual(t, peering.Down, a.Kind, "rank %d, seed %d: %v", s, seed, a.Err)
					if a.Kind != peering.Dial || s != reaching {
						continue
					}
					passive++
					for _, answer := range m[1-s].Step(now, peering.Event{
						Kind: peering.Requested, Conn: peering.Conn{Number: passive}, Greeting: a.Greeting,
					}, nil) {
						switch answer.Kind {
						case peering.Accept:
							step(s, peering.Event{Kind: peering.Established, Conn: a.Conn, Greeting: answer.Greeting})
							step(1-s, peering.Event{Kind: peering.FirstMessage, Conn: answer.Conn})
						case peering.Refuse:
							step(s, peering.Event{Kind: peering.Refused, Conn: a.Conn, Reject: answer.Reject})
						default:
						}
					}
				}
			}
			connected := func() bool {
				_, a := m[0].InUse()
				_, b := m[1].InUse()
				return a && b
			}
			step(0, peering.Event{Kind: peering.Want})
			step(1, peering.Event{Kind: peering.Want})
			for !connected() {
				first, next := 0, time.Duration(1<<62)
				for s := range m {
					if at, ok := m[s].Deadline(); ok && at < next {
						first, next = s, at
					}
				}
				now = next
				step(first, peering.Event{Kind: peering.Tick})
			}
		}
	}
}

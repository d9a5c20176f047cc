package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// nodes has the node of each rank of a world. Ranks of one node use shared memory. Other ranks
// use iWARP over the loopback interface.
type nodes []int

// alone reports whether no other rank is on the node of the rank. Then the rank sleeps in its adapter.
func (on nodes) alone(rank int) bool {
	for other, node := range on {
		if other != rank && node == on[rank] {
			return false
		}
	}
	return true
}

// newNetworkWorld makes engines whose ranks are goroutines of this process and act as if they
// were on several nodes.
func newNetworkWorld(tb testing.TB, on nodes, change func(*engine.Config)) *world {
	tb.Helper()
	return newNetworkWorldOf(tb, on, change, rdma.Config{})
}

// newNetworkWorldOf works as newNetworkWorld, with more options for the network.
func newNetworkWorldOf(tb testing.TB, on nodes, change func(*engine.Config), network rdma.Config) *world {
	tb.Helper()
	n := len(on)
	memory, err := shm.NewLocalNode(n)
	require.NoError(tb, err)
	networks := make([]*rdma.Transport, n)
	w := &world{}
	for rank := range n {
		near, err := shm.New(memory, shm.Config{Rank: rank, LocalRank: rank})
		require.NoError(tb, err)
		sleeper := near.Sleeper()
		if on.alone(rank) {
			sleeper = new(transport.NetworkSleeper)
		}
		far, err := rdma.New(rdma.Config{
			Rank: rank, Size: n, Job: "test", Secret: []byte("a secret of the tests"), Sleeper: sleeper,
			Rails: []rdma.Rail{{Provider: iwarp.New(iwarp.Config{}), Interface: "127.0.0.1"}}, Companion: true, Goodbye: 100 * time.Millisecond, NoReads: network.NoReads,
			Lookup: func(rank int) ([]rdma.Location, error) { return networks[rank].Locations(), nil },
		})
		require.NoError(tb, err)
		networks[rank] = far
		cfg := engine.Config{
			Rank: rank, Size: n, Wait: patient, Sleeper: sleeper, Transports: []transport.Transport{near, far},
			Route: func(peer int) transport.Transport {
				if on[peer] == on[rank] {
					return near
				}
				return far
			},
		}
		if change != nil {
			change(&cfg)
		}
		e, err := engine.New(cfg)
		require.NoError(tb, err)
		w.engines = append(w.engines, e)
		tb.Cleanup(func() {
			require.NoError(tb, e.Close())
			require.NoError(tb, errors.Join(near.Close(), far.Close()))
		})
	}
	for _, e := range w.engines {
		e.Start()
	}
	return w
}

func TestNetworkRandomSchedules(t *testing.T) {
	for name, on := range map[string]nodes{"apart": {0, 1, 2, 3}, "two nodes": {0, 0, 1, 1}} {
		for seed := range uint64(soak(3)) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				w := newNetworkWorld(t, on, nil)
				w.each(t, func(rank int, e *engine.Engine) error {
					return chat(e, rand.New(rand.NewPCG(seed, uint64(rank)+10)), rank, 4, 100)
				})
			})
		}
	}
}

func TestNetworkGoroutineStorm(t *testing.T) {
	newNetworkWorld(t, nodes{0, 0, 1}, nil).storm(t, 12, 50)
}

// TestGoroutinesSleepInTheNetwork lets two goroutines of a rank sleep, of which only one sleeps in the adapter. The wait
// of this one ends first. The other one then has to be woken by its own message.
func TestGoroutinesSleepInTheNetwork(t *testing.T) {
	sleeps := make(chan struct{}, 1)
	w := newNetworkWorld(t, nodes{0, 1}, func(c *engine.Config) {
		if c.Rank == 0 {
			c.Sleeper = &dozer{c.Sleeper, sleeps}
		}
	})
	for range 20 {
		var received [2]chan error
		for i := range received {
			received[i] = make(chan error, 1)
			go func() {
				_, err := w.engines[0].Recv(none, engine.Match{Peer: 1, Tag: i}, 0, nil)
				received[i] <- err
			}()
			<-sleeps
		}
		for i := range received {
			require.NoError(t, w.engines[1].Send(none, engine.Match{Peer: 0, Tag: i}, 0, nil, engine.Standard))
			require.NoError(t, <-received[i])
		}
	}
}

// TestNetworkFloodFillsTheBudgetAndNoMore checks that messages without a posted receive never take
// more than the receiver's budget. The transport over which they arrive must not matter.
func TestNetworkFloodFillsTheBudgetAndNoMore(t *testing.T) {
	const budget, senders, each = 1 << 20, 2, 3000
	w := newNetworkWorld(t, nodes{0, 0, 1}, func(c *engine.Config) { c.UnexpectedBudget = budget })
	require.LessOrEqual(t, worstOfFlood(t, w, senders, each, 4000, 0), budget)
}

// TestAnySourceServesEveryTransport checks that a flood over one transport does not keep the
// messages of another transport from a receive with AnySource. The flood ends after these
// messages have arrived.
func TestAnySourceServesEveryTransport(t *testing.T) {
	const quiet = 200
	for name, on := range map[string]nodes{"flood by shm": {0, 0, 1}, "flood by rdma": {0, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newNetworkWorld(t, on, nil)
			var enough atomic.Bool
			w.each(t, func(rank int, e *engine.Engine) error {
				to := engine.Match{Peer: 0, Tag: rank}
				switch rank {
				case 1:
					for !enough.Load() {
						if err := e.Send(none, to, 0, []byte("flood"), engine.Standard); err != nil {
							return err
						}
					}
					return e.Send(none, to, 0, []byte("end"), engine.Standard)
				case 2:
					for range quiet {
						if err := e.Send(none, to, 0, []byte("drop"), engine.Synchronous); err != nil {
							return err
						}
					}
					return nil
				}
				in := make([]byte, 5)
				for drops := 0; ; {
					s, err := e.Recv(none, engine.Match{Peer: engine.AnySource, Tag: engine.AnyTag}, 0, in)
					if err != nil {
						return err
					}
					if s.Source == 2 {
						drops++
						enough.Store(drops == quiet)
					}
					if s.Bytes == len("end") {
						return nil
					}
				}
			})
		})
	}
}

// TestFiveGibibytesBetweenNodes sends more bytes than 32 bits can count, by RDMA Reads, or by
// RDMA Writes if no Reads are granted.
func TestFiveGibibytesBetweenNodes(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("needs GORUN_SOAK=1 and 12 GiB of memory")
	}
	out := make([]byte, 5<<30)
	for i := 0; i < len(out); i += 8 {
		binary.LittleEndian.PutUint64(out[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	for name, network := range map[string]rdma.Config{"by Reads": {}, "by Writes": {NoReads: true}} {
		t.Run(name, func(t *testing.T) {
			in := make([]byte, len(out))
			newNetworkWorldOf(t, nodes{0, 1}, nil, network).each(t, func(rank int, e *engine.Engine) error {
				if rank == 0 {
					return e.Send(none, engine.Match{Peer: 1, Tag: 1}, 0, out, engine.Standard)
				}
				s, err := e.Recv(none, engine.Match{Peer: 0, Tag: 1}, 0, in)
				if err == nil && s.Bytes != len(out) {
					err = fmt.Errorf("%d bytes", s.Bytes)
				}
				return err
			})
			require.True(t, bytes.Equal(out, in), "the bytes are not those sent")
		})
	}
}

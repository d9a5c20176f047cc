package actors_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// fakeWorld is a rank over the fake transport. The transport cannot hand over memory. Therefore long messages are
// sent as messages of the engine.
type fakeWorld struct {
	engine      *engine.Engine
	rank, size  int
	incarnation int
	hasHuge     atomic.Bool
}

// fakeMessage is memory of a fakeWorld. released, if not nil, is called when the memory is released.
type fakeMessage struct {
	b        []byte
	released func()
	received bool // b belongs to another rank
}

func (w *fakeWorld) Engine() *engine.Engine                        { return w.engine }
func (w *fakeWorld) Rank() int                                     { return w.rank }
func (w *fakeWorld) Size() int                                     { return w.size }
func (w *fakeWorld) Epoch() int                                    { return w.incarnation }
func (w *fakeWorld) Keep(func() (any, func(), error)) (any, error) { panic("not used") }
func (w *fakeWorld) Host(int) string                               { return "" }
func (w *fakeWorld) Respawns() bool                                { return false }
func (w *fakeWorld) Successor() any                                { return nil }
func (w *fakeWorld) ActorSystem(slog.Handler) any                  { return nil }
func (w *fakeWorld) TransportActors() []port.Actor                 { return nil }
func (w *fakeWorld) TellIdle(func() bool)                          {}
func (w *fakeWorld) Guard(fn func())                               { fn() }
func (w *fakeWorld) Bytes(m any) ([]byte, bool)                    { return m.(*fakeMessage).b, true }
func (w *fakeWorld) Given(any, port.Gift, int)                     {}
func (w *fakeWorld) Regain(any, port.Gift)                         {}
func (w *fakeWorld) Detach(any, int) port.Detached                 { return port.Detached{} }
func (w *fakeWorld) Drop(port.Detached)                            {}
func (w *fakeWorld) Received(m *engine.Message) any                { return &fakeMessage{b: m.Bytes} }
func (w *fakeWorld) Wrap(_ int, b []byte) any                      { return &fakeMessage{b: b} }

func init() { actors.RegisterMemory[*fakeMessage]() }

// Give implements port.World. Like the Give of package runtime, it replaces received memory by a copy. The owner of the
// memory then uses it again.
func (w *fakeWorld) Give(m any, _ int) (port.Gift, error) {
	if m := m.(*fakeMessage); m.received {
		own := bytes.Clone(m.b)
		clear(m.b)
		m.b, m.received = own, false
	}
	return port.Gift{}, nil
}

// Release implements port.World.
func (w *fakeWorld) Release(m any) {
	if m := m.(*fakeMessage); m.released != nil {
		m.released()
	}
}

// Hold implements port.World for an arena that has room for messages of at most 1 MiB, and for one message of
// heapMax+1 bytes.
func (w *fakeWorld) Hold(n int) (any, error) {
	switch {
	case n <= 1<<20:
		return &fakeMessage{b: make([]byte, n)}, nil
	case n == heapMax+1 && w.hasHuge.CompareAndSwap(false, true):
		return &fakeMessage{b: make([]byte, n), released: func() { w.hasHuge.Store(false) }}, nil
	}
	return nil, errors.New("no room")
}

// heapMax is the length of the longest []byte that is received into heap memory.
const heapMax = 64 << 20

// fake makes the Systems of n ranks over a fake transport. epochs has the generations of the ranks.
// A rank without an entry is in generation 0.
func fake(t *testing.T, n int, o transporttest.FakeOptions, epochs map[int]int) (*transporttest.Fake, []*actors.System) {
	t.Helper()
	o.NoHandover = true
	f := transporttest.NewFake(n, o)
	all := make([]*actors.System, n)
	for rank := range n {
		all[rank] = fakeRank(t, f, n, rank, engine.Config{})(epochs[rank])
	}
	return f, all
}

// fakeRank makes the engine of a rank over a fake transport. It returns a function that makes the
// rank's System.
func fakeRank(t *testing.T, f *transporttest.Fake, n, rank int, cfg engine.Config) func(epoch int) *actors.System {
	t.Helper()
	tr := f.Transport(rank)
	cfg.Rank, cfg.Size, cfg.Sleeper, cfg.Transports = rank, n, f.Sleeper(rank), []transport.Transport{tr}
	if cfg.Route == nil {
		cfg.Route = func(int) transport.Transport { return tr }
	}
	cfg.Wait = engine.WaitPolicy{Yield: 100 * time.Microsecond}
	e, err := engine.New(cfg)
	require.NoError(t, err)
	e.Start()
	closed := func() {}
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		closed()
		require.NoError(t, tr.Close())
	})
	return func(epoch int) (s *actors.System) {
		s, closed = actors.NewOver(&fakeWorld{engine: e, rank: rank, size: n, incarnation: epoch}, actors.Config{})
		return s
	}
}

// TestEpochs checks that messages of a rank from an earlier generation of the job do not reach the
// actor with the same name. In a job of several processes no such message arrives, because the
// connections of the earlier generation have ended.
func TestEpochs(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, map[int]int{1: 1})
	require.Equal(t, "rank:1@1", all[1].Address())
	in := inbox(t, all[1], "in", all[1].Worker())
	dead := letters(all[1])
	all[0].Root.Send(all[0].PID(1, "in"), "old")
	d := next(t, dead)
	require.ErrorIs(t, d, actors.ErrStale)
	require.Equal(t, "old", d.Message)
	require.Empty(t, in)
	// PIDs of all ranks have the address of the current generation.
	require.Equal(t, "rank:0@1", all[1].PID(0, "in").Address)
	all[1].Root.Send(all[1].PID(1, "in"), "new")
	require.Equal(t, "new", next(t, in))
}

// TestFirstLongMessage sends a message that is longer than the arena, and that cannot be handed over, as the
// first message to an actor. The sender must need no arena memory for it.
func TestFirstLongMessage(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	in := inbox(t, all[1], "in", all[1].Worker())
	dead := letters(all[0])
	m := make([]byte, 2<<20)
	m[len(m)-1] = 7
	all[0].Root.Send(all[0].PID(1, "in"), m)
	require.Equal(t, m, next(t, in))
	require.Empty(t, dead)
}

// TestReceivedMemoryIsPassedOn sends a message whose memory was received from another rank. Before the handover fails,
// Give replaces the memory by a copy, and the owner of the memory uses it again. The copy must be sent.
func TestReceivedMemoryIsPassedOn(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	for _, size := range []int{1000, 1 << 20} {
		in := inbox(t, all[1], fmt.Sprint("in", size), all[1].Worker())
		m := bytes.Repeat([]byte{7}, size)
		all[0].Root.Send(all[0].PID(1, fmt.Sprint("in", size)), &fakeMessage{b: bytes.Clone(m), received: true})
		require.Equal(t, m, next(t, in).(*fakeMessage).b)
	}
}

// TestHugeMessages sends slices that are received into the arena, because they are longer than heapMax. Their arena
// memory must be released, so that the next slice finds room.
func TestHugeMessages(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	in := inbox(t, all[1], "in", all[1].Worker())
	m := make([]byte, heapMax+1)
	for n := range byte(2) {
		m[heapMax] = n
		all[0].Root.Send(all[0].PID(1, "in"), m)
		got := next(t, in).([]byte)
		require.Len(t, got, len(m))
		require.Equal(t, n, got[heapMax])
	}
}

// actorMessage is the message of the soak test: the sender's rank, a number, and bytes.
type actorMessage struct {
	From, Number int
	Load         []byte
}

func init() { actors.RegisterType[actorMessage]() }

// TestSoak lets actors of four ranks send each other messages of all sizes over a transport that
// refuses frames, delays them and connects late. One of the ranks dies. Messages must arrive
// unchanged and in order, no message of a living rank may be missing, and each watcher must be
// notified of each death once. GORUN_SOAK=FIRST:COUNT runs other seeds.
func TestSoak(t *testing.T) {
	first, count := int64(0), int64(6)
	if text := os.Getenv("GORUN_SOAK"); strings.Contains(text, ":") {
		_, err := fmt.Sscanf(text, "%d:%d", &first, &count)
		require.NoError(t, err)
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { soak(t, seed) })
	}
}

func soak(t *testing.T, seed int64) {
	t.Helper()
	const ranks, messages, victim = 4, 150, 3
	f, all := fake(t, ranks, transporttest.FakeOptions{
		Seed: seed, AgainRate: 0.1, DelayPolls: 5, ConnectPolls: 20, MaxEager: 700, EagerBest: 300, CostlySend: seed%2 == 0,
	}, nil)
	var got [ranks][ranks]atomic.Int64
	var bad atomic.Value
	terminated := make(chan *actor.Terminated, 100)
	for rank, s := range all {
		_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				for other := range ranks {
					if other != rank {
						c.Watch(s.PID(other, "in"))
					}
				}
			case *actorMessage:
				if int64(m.Number) != got[rank][m.From].Load() || len(m.Load) > 0 && m.Load[len(m.Load)-1] != byte(m.Number) {
					bad.CompareAndSwap(nil, fmt.Sprintf("%d from %d to %d, not %d, %d bytes", m.Number, m.From, rank, got[rank][m.From].Load(), len(m.Load)))
				}
				got[rank][m.From].Add(1)
			case *actor.Terminated:
				if rank != victim {
					terminated <- m
				}
			}
		}), "in")
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	for rank, s := range all {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(rank)))
			for i := range messages {
				for to := range ranks {
					load := make([]byte, rng.IntN(10)*rng.IntN(10)*rng.IntN(100))
					if len(load) > 0 {
						load[len(load)-1] = byte(i)
					}
					s.Root.Send(s.PID(to, "in"), &actorMessage{rank, i, load})
				}
				if rank == 0 && i == messages/2 {
					f.Kill(victim, errors.New("killed"))
				}
			}
		})
	}
	wg.Wait()
	for range ranks - 1 {
		m := next(t, terminated)
		require.Equal(t, actor.TerminatedReason_AddressTerminated, m.Why)
		require.Equal(t, all[victim].Address(), m.Who.Address)
	}
	require.Eventually(t, func() bool {
		for to := range victim {
			for from := range victim {
				if got[to][from].Load() != messages {
					return false
				}
			}
		}
		return true
	}, soon, time.Millisecond)
	require.Nil(t, bad.Load())
	require.Empty(t, terminated)
}

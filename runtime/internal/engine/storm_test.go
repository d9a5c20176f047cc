package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// soak returns the number of repetitions of a test: 50 times n with GORUN_SOAK=1, a fifth of n with
// -short, and n otherwise.
func soak(n int) int {
	switch {
	case os.Getenv("GORUN_SOAK") == "1":
		return 50 * n
	case testing.Short():
		return (n + 4) / 5
	}
	return n
}

// some returns options of a fake transport with random capabilities and faults.
func some(rng *rand.Rand) transporttest.FakeOptions {
	o := transporttest.FakeOptions{
		Seed: rng.Int64(), NoGet: rng.IntN(2) == 0, NoPut: rng.IntN(2) == 0, TargetPolls: rng.IntN(2) == 0,
		MaxReads: 1 + rng.IntN(3), RingMessages: 2 + rng.IntN(60), MaxEager: 256 << rng.IntN(5),
	}
	o.EagerBest = 1 + rng.IntN(o.MaxEager)
	if rng.IntN(2) == 0 {
		o.AgainRate = rng.Float64() / 2
	}
	if rng.IntN(2) == 0 {
		o.DelayPolls, o.ConnectPolls = rng.IntN(5), rng.IntN(10)
	}
	if rng.IntN(3) == 0 {
		o.FailRate = rng.Float64() * 0.8
	}
	return o
}

// TestRandomSchedules lets ranks exchange random messages in random order. The bytes of every
// message depend on the number of the message in its lane. Therefore the order is checked, too.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(soak(30)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			ranks, each := 2+rng.IntN(3), 60
			w := newWorld(t, ranks, some(rng), func(c *engine.Config) {
				c.UnexpectedBudget = 1 << (12 + rand.New(rand.NewPCG(seed, 3)).IntN(10))
				c.ChunkBytes = 1000
				c.Wait = policies[seed%uint64(len(policies))]
			})
			w.each(t, func(rank int, e *engine.Engine) error {
				return chat(e, rand.New(rand.NewPCG(seed, uint64(rank)+10)), rank, ranks, each)
			})
			for rank := range w.engines {
				require.Zero(t, w.fake.Exposed(rank))
			}
		})
	}
}

// policies lists wait policies, from one that sleeps at once to one that hardly ever sleeps.
var policies = []engine.WaitPolicy{
	{},
	{Yield: 100 * time.Microsecond},
	{Spin: 5 * time.Microsecond},
	{Spin: 10 * time.Microsecond, Yield: time.Second},
}

// TestSleeperLendsTheToken lets a goroutine sleep as the poller while another goroutine sends and
// receives. Afterwards, the sleeping goroutine must still be woken by its own message.
func TestSleeperLendsTheToken(t *testing.T) {
	for i, policy := range policies[:3] {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) { c.Wait = policy })
			service := make(chan error, 2)
			for rank, e := range w.engines {
				go func() {
					for range 20 {
						if _, err := e.Recv(none, engine.Match{Context: 99, Peer: 1 - rank, Tag: 0}, 0, nil); err != nil {
							service <- err
							return
						}
					}
					service <- nil
				}()
			}
			w.each(t, func(rank int, e *engine.Engine) error {
				for range 20 {
					if err := pingpong(e, rank, 2, 1, 50); err != nil {
						return err
					}
					to := engine.Match{Context: 99, Peer: 1 - rank, Tag: 0}
					if err := e.Send(none, to, 0, nil, engine.Standard); err != nil {
						return err
					}
				}
				return nil
			})
			for range w.engines {
				require.NoError(t, <-service)
			}
		})
	}
}

// lengthOf returns the length of message i of a lane, as both sides compute it.
func lengthOf(from, to, i int) int {
	h := uint64(from*1_000_003+to*7919+i) * 0x9e3779b97f4a7c15
	return []int{0, 1, 100, 300, 1000, 5000, 30_000}[h>>40%7]
}

// chat sends messages to every rank, including its own rank, and receives the same number from every
// rank. The argument each is the number of messages to one rank.
func chat(e *engine.Engine, rng *rand.Rand, rank, ranks, each int) error {
	type incoming struct {
		r    engine.Handle
		from int
		i    int
		buf  []byte
	}
	var in []incoming
	var out []engine.Handle
	sent, posted := make([]int, ranks), make([]int, ranks)
	for left := 2 * ranks * each; left > 0; {
		peer := rng.IntN(ranks)
		if i := sent[peer]; i < each && rng.IntN(2) == 0 {
			sent[peer]++
			left--
			mode := engine.Mode(rng.IntN(2))
			n := lengthOf(rank, peer, i)
			out = append(out, e.Isend(engine.Match{Context: 1, Peer: peer, Tag: 3}, 0, pattern(n, rank+i), mode))
		} else if i := posted[peer]; i < each {
			posted[peer]++
			left--
			m := engine.Match{Context: 1, Peer: peer, Tag: 3 - rng.IntN(2)*4}
			buf := make([]byte, lengthOf(peer, rank, i))
			in = append(in, incoming{e.Irecv(m, 0, buf), peer, i, buf})
		}
		if rng.IntN(8) == 0 {
			e.Iprobe(engine.Match{Context: 1, Peer: engine.AnySource, Tag: engine.AnyTag})
		}
	}
	rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	for _, x := range in {
		s, err := x.r.Wait(none)
		if err != nil {
			return fmt.Errorf("rank %d: message %d of rank %d: %w", rank, x.i, x.from, err)
		}
		if s.Bytes != len(x.buf) || string(x.buf) != string(pattern(len(x.buf), x.from+x.i)) {
			return fmt.Errorf("rank %d: message %d of rank %d is wrong: %+v", rank, x.i, x.from, s)
		}
	}
	return errors.Join(e.WaitAll(none, out)...)
}

// TestGoroutineStorm lets many goroutines of every rank exchange messages. Each goroutine has a
// counterpart on every other rank, with which it shares a context. Some goroutines receive from
// AnySource.
func TestGoroutineStorm(t *testing.T) {
	const ranks, goroutines = 3, 12
	rounds := soak(60)
	for _, p := range protocols[:6] {
		t.Run(p.name, func(t *testing.T) {
			var word atomic.Uint64
			newWorld(t, ranks, p.options, nil).storm(t, goroutines, rounds, func(e *engine.Engine) {
				for i := range uint64(20) {
					word.Add(1)
					e.Await(none, func() bool { return word.Load() >= ranks*i/2 }, "word")
				}
			})
		})
	}
}

// storm runs pingpong on a number of goroutines of every rank, and the functions in beside on
// further goroutines.
func (w *world) storm(tb testing.TB, goroutines, rounds int, beside ...func(e *engine.Engine)) {
	tb.Helper()
	w.each(tb, func(rank int, e *engine.Engine) error {
		var wg sync.WaitGroup
		errs := make([]error, goroutines)
		for g := range errs {
			wg.Go(func() { errs[g] = pingpong(e, rank, len(w.engines), g, rounds) })
		}
		for _, f := range beside {
			wg.Go(func() { f(e) })
		}
		wg.Wait()
		return errors.Join(errs...)
	})
}

// pingpong sends messages around the ring of ranks.
func pingpong(e *engine.Engine, rank, ranks, g, rounds int) error {
	for i := range rounds {
		n := []int{0, 8, 600, 5000}[(g+i)%4]
		to := engine.Match{Context: uint32(g), Peer: (rank + 1) % ranks, Tag: i}
		from := engine.Match{Context: uint32(g), Peer: (rank + ranks - 1) % ranks, Tag: i}
		if g%3 == 0 {
			from.Peer = engine.AnySource
		}
		in := make([]byte, n)
		r := e.Irecv(from, 0, in)
		if err := e.Send(none, to, 0, pattern(n, g+i), engine.Mode(i%2)); err != nil {
			return err
		}
		s, err := r.Wait(none)
		if err != nil {
			return err
		}
		if s.Bytes != n || string(in) != string(pattern(n, g+i)) {
			return fmt.Errorf("rank %d goroutine %d round %d: %+v", rank, g, i, s)
		}
	}
	return nil
}

// deep grows the stack and fills a buffer that may lie on the stack.
//
//go:noinline
func deep(n int) byte {
	var frame [1024]byte
	if n > 0 {
		frame[0] = deep(n - 1)
	}
	return frame[n%1024] + 1
}

// TestRendezvousDuringCollectionsAndStackGrowth checks messages whose buffers only the requests
// refer to, while the garbage collector runs and the stack moves.
func TestRendezvousDuringCollectionsAndStackGrowth(t *testing.T) {
	for _, p := range protocols[:5] {
		t.Run(p.name, func(t *testing.T) {
			w := newWorld(t, 2, p.options, func(c *engine.Config) { c.ChunkBytes = 8 << 10 })
			w.each(t, func(rank int, e *engine.Engine) error {
				for i := range 5 {
					var small [5000]byte // may lie on the stack
					copy(small[:], pattern(len(small), i))
					to := engine.Match{Peer: 1 - rank, Tag: i}
					out := e.Isend(to, 0, small[:], engine.Standard)
					big := e.Isend(to, 0, pattern(200_000, i), engine.Standard)
					goruntime.GC()
					deep(200 * (i + 1))
					in := make([]byte, 5000)
					if _, err := e.Recv(none, to, 0, in); err != nil {
						return err
					}
					m, err := e.RecvMessage(none, to)
					if err != nil {
						return err
					}
					goruntime.GC()
					if string(in) != string(pattern(5000, i)) || string(m.Bytes) != string(pattern(200_000, i)) {
						return fmt.Errorf("round %d is damaged", i)
					}
					m.Release()
					if err := errors.Join(e.WaitAll(none, []engine.Handle{out, big})...); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// TestLongSendToABusyRank checks that the receiver's background goroutine moves a long message to
// a rank that makes no call.
func TestLongSendToABusyRank(t *testing.T) {
	for _, p := range protocols[:5] {
		t.Run(p.name, func(t *testing.T) {
			w := newWorld(t, 2, p.options, nil)
			in := make([]byte, 1<<20)
			from := engine.Match{Peer: 0, Tag: 1}
			r := w.engines[1].Irecv(from, 0, in)
			// Rank 1 makes no call of the engine until the send has completed.
			require.NoError(t, w.engines[0].Send(none, engine.Match{Peer: 1, Tag: 1}, 0, pattern(1<<20, 1), engine.Synchronous))
			_, err := r.Wait(none)
			require.NoError(t, err)
			require.Equal(t, pattern(1<<20, 1), in)
		})
	}
}

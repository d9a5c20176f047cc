package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// givenLengths has lengths of messages that use every protocol, on the fake transport and on the
// network.
var givenLengths = []int{0, 10, 3000, 20_000, 300_000, 3 << 20}

// ledger counts, for each rank and each Addr of a key, how often the memory of this key was
// returned.
type ledger []map[uint64]int

func newLedger(ranks int) ledger {
	l := make(ledger, ranks)
	for i := range l {
		l[i] = map[uint64]int{}
	}
	return l
}

// keep sets c.Release so that returned memory is counted in l. Each rank gives memory only to its
// successor. Memory that another rank returns is counted under an Addr that does not occur
// otherwise.
func (l ledger) keep(c *engine.Config) {
	back, successor := l[c.Rank], (c.Rank+1)%c.Size
	c.Release = func(holder int, off uint64) {
		if holder != successor {
			off |= uint64(holder+1) << 32
		}
		back[off]++
	}
}

// settled waits until a rank has got back want pieces of memory, and returns the counts.
func (l ledger) settled(t *testing.T, e *engine.Engine, rank, want int) map[uint64]int {
	t.Helper()
	require.NoError(t, e.Await(none, func() bool { return len(l[rank]) == want }, "release"))
	return l[rank]
}

// giveAround makes every rank give buffers of all lengths to its successor before it receives
// any. If a send waited for its receiver, all ranks would wait for ever.
func giveAround(rank, size int, e *engine.Engine) error {
	for i, n := range givenLengths {
		to := engine.Match{Peer: (rank + 1) % size, Tag: i}
		if _, err := e.SendHandover(none, to, 0, transport.Key{Addr: uint64(i)}, pattern(n, rank+i)); err != nil {
			return err
		}
	}
	from := (rank + size - 1) % size
	for i, n := range givenLengths {
		m, err := e.RecvMessage(none, engine.Match{Peer: from, Tag: i})
		if err != nil {
			return err
		}
		if !bytes.Equal(m.Bytes, pattern(n, from+i)) {
			return fmt.Errorf("the %d bytes of rank %d are not those given", n, from)
		}
		m.Release()
	}
	return nil
}

func TestRingOfGivenBuffers(t *testing.T) {
	const size = 3
	worlds := map[string]func(*testing.T, func(*engine.Config)) *world{
		"rdma": func(t *testing.T, change func(*engine.Config)) *world {
			t.Helper()
			return newNetworkWorld(t, nodes{0, 1, 2}, change)
		},
	}
	for _, p := range protocols {
		o := p.options
		o.NoHandover = true
		worlds[p.name] = func(t *testing.T, change func(*engine.Config)) *world {
			t.Helper()
			return newWorld(t, size, o, change)
		}
	}
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) {
			back := newLedger(size)
			w := open(t, back.keep)
			w.each(t, func(rank int, e *engine.Engine) error { return giveAround(rank, size, e) })
			for rank, e := range w.engines {
				for addr, times := range back.settled(t, e, rank, len(givenLengths)) {
					require.Equal(t, 1, times, "buffer %d of rank %d", addr, rank)
				}
			}
		})
	}
}

func TestHandoverWhereMemoryCannotChangeHands(t *testing.T) {
	released := make(chan uint64, 2)
	w := newWorld(t, 2, transporttest.FakeOptions{NoHandover: true}, func(c *engine.Config) {
		c.Release = func(_ int, off uint64) { released <- off }
	})
	for i, n := range []int{10, 10_000} {
		mem, err := w.fake.Arena(0).Bytes(0, n)
		require.NoError(t, err)
		copy(mem, pattern(n, i))
		k := w.fake.Arena(0).Key(0)
		w.each(t, func(rank int, e *engine.Engine) error {
			if rank == 0 {
				_, err := e.SendHandover(none, at(1, 1), 0, k, mem)
				return err
			}
			m, err := e.RecvMessage(none, at(0, 1))
			if err != nil || string(m.Bytes) != string(pattern(n, i)) {
				return fmt.Errorf("not what was sent: %w", err)
			}
			m.Release()
			return nil
		})
		require.Equal(t, k.Addr, <-released)
	}
}

// TestGivenMemoryComesBackOnce checks that given memory is returned exactly once, even if its
// message never arrives. If the call failed, the memory must not be returned, because it still
// belongs to the caller.
func TestGivenMemoryComesBackOnce(t *testing.T) {
	cause := errors.New("the test ends it")
	ends := map[string]func(w *world){
		"death of the peer":  func(w *world) { w.engines[0].MarkDown(1, cause) },
		"end of the context": func(w *world) { w.engines[0].Break(7, cause) },
		"end of the engine":  func(w *world) { w.engines[0].Abort(cause) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			back, taken := newLedger(2), 0
			w := newWorld(t, 2, transporttest.FakeOptions{NoHandover: true}, func(c *engine.Config) {
				back.keep(c)
				c.Lost = func(int, error) { taken = len(back[0]) }
			})
			to := engine.Match{Peer: 1, Context: 7}
			long := pattern(100_000, 1)
			for i := range uint64(3) {
				reads, err := w.engines[0].SendHandover(none, to, 0, transport.Key{Addr: i}, long)
				require.NoError(t, err)
				require.True(t, reads)
			}
			require.Empty(t, back.settled(t, w.engines[0], 0, 0), "no rank has received them")
			end(w)
			if name != "end of the engine" {
				back.settled(t, w.engines[0], 0, 3)
			}
			require.Equal(t, map[uint64]int{0: 1, 1: 1, 2: 1}, back[0])
			if name == "death of the peer" {
				require.Equal(t, 3, taken, "before Lost takes back what the peer held")
			}
			_, err := w.engines[0].SendHandover(none, to, 0, transport.Key{Addr: 9}, long)
			require.Error(t, err)
			require.Len(t, back[0], 3, "after an error it is the caller's")
		})
	}
}

// TestGivenMemoryThatStillMovesIsTakenBack lets a peer violate the protocol while Puts read the
// memory. The callback Lost tells the owner to take the memory back. So the engine must not return
// the memory by Release when the Puts end.
func TestGivenMemoryThatStillMovesIsTakenBack(t *testing.T) {
	s := &stranger{caps: transport.Caps{MaxEager: 256, EagerBest: 64, Put: true}, reported: map[int]bool{}}
	back, lost := newLedger(1), false
	c := engine.Config{
		Size: 2, ChunkBytes: 64, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s},
		Lost: func(int, error) { lost = true },
	}
	back.keep(&c)
	e, err := engine.New(c)
	require.NoError(t, err)
	_, err = e.SendHandover(none, engine.Match{Peer: 1}, 0, transport.Key{Addr: 5}, make([]byte, 200))
	require.NoError(t, err)
	require.Len(t, s.sent, 1)
	clearance := make([]byte, 28)
	clearance[0] = 200
	s.frames = []strange{{1, transport.Header{A: 0x204, C: s.sent[0].C & (1<<32 - 1)}, clearance}}
	e.Iprobe(nowhere)
	moving := len(s.done)
	require.Positive(t, moving)
	s.frames = []strange{{1, transport.Header{A: 200}, nil}}
	e.Iprobe(nowhere)
	require.True(t, lost)
	require.Empty(t, s.done)
	require.Empty(t, back[0])
	require.NoError(t, e.Close())
}

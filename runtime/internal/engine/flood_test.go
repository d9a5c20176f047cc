package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// worstOfFlood makes each sender send messages to rank 0. The argument each is the number of messages
// of one sender. A message has a length from 0 to 3*unit bytes. At first, no receive is posted. Rank 0
// polls thousands of times. On a loaded machine, the senders may need longer: rank 0 polls up to a
// hundred times as often until the messages take more than fill bytes. Then rank 0 receives and checks
// all messages. worstOfFlood returns the maximum memory that rank 0 used, in bytes.
func worstOfFlood(t *testing.T, w *world, senders, each, unit, fill int) int {
	t.Helper()
	worst := 0
	w.each(t, func(rank int, e *engine.Engine) error {
		if rank > 0 {
			for i := range each {
				n := unit * (i % 4)
				if err := e.Send(none, engine.Match{Peer: 0, Tag: 1}, 0, pattern(n, i), engine.Standard); err != nil {
					return err
				}
			}
			return nil
		}
		// Measure the memory while nothing is received.
		for polls := 0; polls < 3000 || worst <= fill && polls < 300_000; polls++ {
			e.Iprobe(engine.Match{Peer: 1, Tag: 2})
			held, _ := e.Held()
			used, _ := e.Occupied()
			worst = max(worst, held, 2*used/3) // sizes are rounded up by at most half
		}
		next, in := make([]int, senders+1), make([]byte, 4*unit)
		for range senders * each {
			s, err := e.Recv(none, engine.Match{Peer: engine.AnySource, Tag: 1}, 0, in)
			if err != nil {
				return err
			}
			i := next[s.Source]
			next[s.Source]++
			if s.Bytes != unit*(i%4) || string(in[:s.Bytes]) != string(pattern(s.Bytes, i)) {
				return fmt.Errorf("message %d of rank %d: %+v", i, s.Source, s)
			}
			held, _ := e.Held()
			worst = max(worst, held)
		}
		return nil
	})
	return worst
}

func TestFloodFillsTheBudgetAndNoMore(t *testing.T) {
	const budget, senders, each = 1 << 20, 3, 1500
	o := transporttest.FakeOptions{MaxEager: 4096, EagerBest: 4096}
	w := newWorld(t, senders+1, o, func(c *engine.Config) { c.UnexpectedBudget = budget })
	worst := worstOfFlood(t, w, senders, each, 1000, budget/8)
	require.LessOrEqual(t, worst, budget)
	// How much of the budget is used depends on chance.
	require.Greater(t, worst, budget/8, "the budget is not used")
	held, messages := w.engines[0].Held()
	require.Zero(t, held)
	require.Zero(t, messages)
}

// TestFloodOfManyPeers checks that floods of many peers share the budget, and that the messages
// of every peer arrive.
func TestFloodOfManyPeers(t *testing.T) {
	const budget, senders, each = 1 << 20, 24, 150
	o := transporttest.FakeOptions{MaxEager: 4096, EagerBest: 4096}
	w := newWorld(t, senders+1, o, func(c *engine.Config) { c.UnexpectedBudget = budget })
	require.LessOrEqual(t, worstOfFlood(t, w, senders, each, 1000, 0), budget)
}

// TestAnnouncedMessagesTakeARecordEach checks messages without a posted receive beyond the
// budget. Such a message takes only a record, and any message can be received first. Afterwards
// most of the memory must be freed.
func TestAnnouncedMessagesTakeARecordEach(t *testing.T) {
	const budget, many, n = 64 << 10, 5000, 100
	for _, senders := range []int{1, 5} {
		w := newWorld(t, senders+1, transporttest.FakeOptions{}, func(c *engine.Config) { c.UnexpectedBudget = budget })
		each := many / senders
		w.each(t, func(rank int, e *engine.Engine) error {
			if rank > 0 {
				rs := make([]engine.Handle, each)
				for i := range rs {
					rs[i] = e.Isend(engine.Match{Peer: 0, Tag: i}, 0, pattern(n, i+rank), engine.Standard)
				}
				return errors.Join(e.WaitAll(context.Background(), rs)...)
			}
			for source := 1; source <= senders; source++ { // ends after all messages have arrived
				if _, err := e.Probe(none, engine.Match{Peer: source, Tag: each - 1}); err != nil {
					return err
				}
			}
			held, messages := e.Held()
			used, _ := e.Occupied()
			if held > budget || messages != each*senders || used > budget+many*engine.RecordBytes {
				return fmt.Errorf("%d bytes held, %d messages in %d bytes", held, messages, used)
			}
			in := make([]byte, n)
			for i := each - 1; i >= 0; i-- {
				for source := 1; source <= senders; source++ {
					if _, err := e.Recv(none, engine.Match{Peer: source, Tag: i}, 0, in); err != nil {
						return err
					}
					if string(in) != string(pattern(n, i+source)) {
						return fmt.Errorf("message %d of rank %d", i, source)
					}
				}
			}
			if used, kept := e.Occupied(); used != 0 || kept > 8<<20 {
				return fmt.Errorf("%d bytes used, %d kept afterwards", used, kept)
			}
			return nil
		})
	}
}

// TestSizesOfSpareMemory checks that the memory of a message is at least as long as the message,
// and at most 1.5 times as long or 64 bytes long. Memory of up to 64 KiB must be used again.
func TestSizesOfSpareMemory(t *testing.T) {
	get := engine.SpareMemory()
	require.Nil(t, get(0))
	for n := 1; n <= 70_000; n += 1 + n/100 {
		b := get(n)
		require.Len(t, b, n)
		require.LessOrEqual(t, cap(b), max(64, n+n/2))
		b[0] = 7
		again := get(cap(b))
		require.Equal(t, cap(b), cap(again))
		if n <= 64<<10 {
			require.EqualValues(t, 7, again[0], "%d bytes are not used again", n)
		}
	}
}

func TestEmptyMessagesCostCreditToo(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) { c.UnexpectedBudget = 64 << 10 })
	const many = 5000
	w.each(t, func(rank int, e *engine.Engine) error {
		if rank == 0 {
			for range many {
				if err := e.Send(none, engine.Match{Peer: 1, Tag: 1}, 0, nil, engine.Standard); err != nil {
					return err
				}
			}
			return e.Send(none, engine.Match{Peer: 1, Tag: 2}, 0, nil, engine.Standard)
		}
		for range 2000 {
			e.Iprobe(engine.Match{Peer: 0, Tag: 2})
			if _, messages := e.Held(); messages > 64<<10/448+1 {
				return fmt.Errorf("%d messages kept", messages)
			}
		}
		for range many {
			if _, err := e.Recv(none, engine.Match{Peer: 0, Tag: 1}, 0, nil); err != nil {
				return err
			}
		}
		_, err := e.Recv(none, engine.Match{Peer: 0, Tag: 2}, 0, nil)
		return err
	})
}

func TestOutOfCreditTheTagsDoNotBlockEachOther(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) { c.UnexpectedBudget = 8 << 10 })
	const many = 200
	w.each(t, func(rank int, e *engine.Engine) error {
		if rank == 0 {
			var rs []engine.Handle
			for i := range many {
				rs = append(rs, e.Isend(engine.Match{Peer: 1, Tag: i}, 0, pattern(300, i), engine.Standard))
			}
			return errors.Join(e.WaitAll(context.Background(), rs)...)
		}
		in := make([]byte, 300)
		for i := many - 1; i >= 0; i-- { // the last message first
			if _, err := e.Recv(none, engine.Match{Peer: 0, Tag: i}, 0, in); err != nil {
				return err
			}
			if string(in) != string(pattern(300, i)) {
				return fmt.Errorf("message %d", i)
			}
		}
		return nil
	})
}

package rdma_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// batching returns two connected ranks, and a function that sends a message of n bytes from rank 0 to rank 1.
// Rank 0 sends a message at once if rank 1 has sent something since the last message that rank 0 sent at once.
// Otherwise rank 0 holds the message back until the next Poll.
func batching(t *testing.T, places []place) (ranks []*rank, next func(n int) error) {
	t.Helper()
	ranks = newWorld(t, places, nil).ranks(t)
	e, sent := ranks[0].to(1), uint64(0)
	next = func(n int) error {
		err := e.Send(transport.Header{A: sent, B: uint64(n)}, numbered(sent, n))
		if err == nil {
			sent++
		}
		return err
	}
	require.NoError(t, drive(t, ranks, "a connection", func() error { return next(8) }))
	pump(t, ranks, "its acknowledgement", func() bool { return ranks[0].frames() == 0 })
	ranks[0].HoldBatches()
	return ranks, next
}

// frames returns the number of frames from rank 0 to rank 1 that are not acknowledged. An open frame, which may
// still take messages, counts too.
func (r *rank) frames() int {
	_, frames := r.SendMemory(1)
	return frames
}

// TestMessagesShareAFrame checks that messages that are sent in quick succession share a frame, and that the
// next Poll or Arm sends the frame.
func TestMessagesShareAFrame(t *testing.T) {
	for name, goOn := range map[string]func(r *rank){
		"poll": func(r *rank) { r.poll() },
		"arm":  func(r *rank) { r.Arm(); r.Disarm() },
	} {
		t.Run(name, func(t *testing.T) {
			ranks, next := batching(t, memory(verbstest.StyleIWARP, 2))
			for range 5 {
				require.NoError(t, next(8))
			}
			require.Equal(t, 1, ranks[0].frames())
			for range 100 {
				ranks[1].poll()
			}
			require.EqualValues(t, 1, ranks[1].next[0], "they wait for a Poll")
			goOn(ranks[0])
			pump(t, ranks[1:], "all messages", func() bool { return ranks[1].next[0] == 6 })
			closeAll(t, ranks)
		})
	}
}

// TestAnswersGoAtOnce checks that a rank sends at once the first message that follows a message of the peer.
// A dialogue needs the low latency.
func TestAnswersGoAtOnce(t *testing.T) {
	ranks, next := batching(t, memory(verbstest.StyleIWARP, 2))
	for n := range uint64(3) {
		require.NoError(t, drive(t, ranks[1:], "a question", func() error { return ranks[1].to(0).Send(transport.Header{A: n}, nil) }))
		pump(t, ranks, "a question", func() bool { return ranks[0].next[1] == n+1 })
		was := ranks[1].next[0]
		require.NoError(t, next(8))
		pump(t, ranks[1:], "an answer", func() bool { return ranks[1].next[0] == was+1 })
		require.NoError(t, next(8))
		require.NoError(t, next(8))
		pump(t, ranks, "the rest", func() bool { return ranks[1].next[0] == was+3 })
	}
	closeAll(t, ranks)
}

// TestLongMessagesEndABatch checks that a long message is sent at once, after the messages that were held back.
func TestLongMessagesEndABatch(t *testing.T) {
	ranks, next := batching(t, memory(verbstest.StyleIWARP, 2))
	for _, n := range []int{8, 8, 4000} {
		require.NoError(t, next(n))
	}
	require.Equal(t, 2, ranks[0].frames())
	pump(t, ranks[1:], "all messages", func() bool { return ranks[1].next[0] == 4 })
	closeAll(t, ranks)
}

// TestBatchesAreSplit checks that a receiver finds the boundaries of the messages in a frame, whatever their
// lengths.
func TestBatchesAreSplit(t *testing.T) {
	for name, places := range map[string][]place{
		"memory": memory(verbstest.StyleInfiniBand, 2), "tcp": loopback(iwarp.New(iwarp.Config{}), 2),
	} {
		t.Run(name, func(t *testing.T) {
			ranks, next := batching(t, places)
			rng, count := rand.New(rand.NewPCG(1, 1)), uint64(1)
			most := ranks[0].to(1).Caps().MaxEager
			for range 3000 {
				n := rng.IntN(rng.IntN(min(2500, most)) + 1)
				if rng.IntN(100) == 0 {
					n = most - rng.IntN(20)
				}
				require.NoError(t, drive(t, ranks, "send", func() error { return next(n) }))
				count++
			}
			pump(t, ranks, "all messages", func() bool { return ranks[1].next[0] == count })
			closeAll(t, ranks)
		})
	}
}

// TestSleepersAreRungForABatch checks that the first message that is held back wakes a sleeping rank, and that
// the second message does not wake the rank again.
func TestSleepersAreRungForABatch(t *testing.T) {
	ranks, next := batching(t, memory(verbstest.StyleIWARP, 2))
	for range 2 {
		for !ranks[0].Arm() {
			ranks[0].poll()
		}
		before := ranks[0].sleeper.Prepare()
		require.NoError(t, next(8))
		rung := ranks[0].sleeper.Prepare()
		require.NotEqual(t, before, rung)
		require.NoError(t, next(8))
		require.Equal(t, rung, ranks[0].sleeper.Prepare())
		ranks[0].Disarm()
		ranks[0].poll()
	}
	pump(t, ranks, "all messages", func() bool { return ranks[1].next[0] == 5 })
	closeAll(t, ranks)
}

// TestBatchesHaveATimer checks that a timer sends the messages that are held back if the rank does not poll.
func TestBatchesHaveATimer(t *testing.T) {
	ranks := newWorld(t, loopback(iwarp.New(iwarp.Config{}), 2), nil).ranks(t)
	var mu sync.Mutex
	over := false
	ranks[0].UseLock(func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			f()
		}
	})
	sent := uint64(0)
	for range 200 {
		for range 3 {
			mu.Lock()
			err := ranks[0].to(1).Send(transport.Header{A: sent}, nil)
			for errors.Is(err, transport.ErrAgain) {
				ranks[0].poll()
				ranks[1].poll()
				err = ranks[0].to(1).Send(transport.Header{A: sent}, nil)
			}
			mu.Unlock()
			require.NoError(t, err)
			sent++
		}
		pump(t, ranks[1:], "the messages", func() bool { return ranks[1].next[0] == sent })
		mu.Lock()
		ranks[0].poll() // takes the peer's credit
		mu.Unlock()
	}
	mu.Lock()
	over = true
	mu.Unlock()
	closeAll(t, ranks)
}

// TestBatchesAllocateNothing checks that messages that share frames allocate no heap memory.
func TestBatchesAllocateNothing(t *testing.T) {
	ranks, _ := batching(t, loopback(iwarp.New(iwarp.Config{}), 2))
	count, payload := 0, make([]byte, 100)
	ranks[1].check = func(int, transport.Header, []byte) { count++ }
	ranks[1].order = make([]int, 0, 1<<20)
	e := ranks[0].to(1)
	round := func() {
		was := count
		for range 20 {
			for e.Send(transport.Header{A: 1}, payload) != nil {
				ranks[0].poll()
				ranks[1].poll()
			}
		}
		for count < was+20 {
			ranks[0].poll()
			ranks[1].poll()
		}
	}
	for range 200 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(100, round))
	closeAll(t, ranks)
}

package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestCreditThatCameBackIsTold checks the credit of a peer that sends messages and receives none.
// The engine must tell the peer of returned credit before the peer has used more than half of its
// window. It must not send a frame for each message.
func TestCreditThatCameBackIsTold(t *testing.T) {
	const (
		// The window of a peer that has not requested more.
		window = 256 << 10
		n      = 256
		cost   = n + 448
		many   = 4 * window / cost
	)
	m := engine.Match{Peer: 1, Tag: 1}
	for name, wait := range map[string]func(e *engine.Engine) error{
		"posted":     func(*engine.Engine) error { return nil },
		"unexpected": func(e *engine.Engine) error { _, err := e.Probe(none, m); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStranger(t)
			spent, told := uint32(0), uint32(window)
			for range many {
				s.frames = append(s.frames, strange{1, transport.Header{A: 1, B: 1}, make([]byte, n)})
				spent += cost
				require.NoError(t, wait(e))
				_, err := e.Recv(none, m, 0, make([]byte, n))
				require.NoError(t, err)
				if len(s.sent) > 0 {
					told = uint32(s.sent[len(s.sent)-1].C >> 32)
				}
				require.Greater(t, told-spent, uint32(window/2), "what is left of the credit that the peer knows of")
			}
			require.LessOrEqual(t, len(s.sent), 2*many*cost/window)
			for _, h := range s.sent {
				require.EqualValues(t, 8, h.A, "a frame of nothing but credit")
			}
		})
	}
}

// TestWindowOfALostPeerIsUsedAgain checks that the credit of a lost peer returns to the budget, and that another peer
// can get it. The credit that no unexpected message of the lost peer uses returns at once. The rest returns when
// these messages are received.
func TestWindowOfALostPeerIsUsedAgain(t *testing.T) {
	const (
		budget = 64 << 10
		bytes  = 552
		cost   = bytes + engine.RecordBytes
		first  = budget / 6 // the initial window of each of the three ranks
	)
	for _, kept := range []int{0, 5} {
		t.Run(fmt.Sprint(kept), func(t *testing.T) {
			w := newWorld(t, 3, transporttest.FakeOptions{MaxEager: 4096, EagerBest: 4096}, func(c *engine.Config) {
				c.UnexpectedBudget = budget
			})
			most := w.grown(t, 1, budget/cost, bytes)
			require.Greater(t, most, budget-3*first-cost, "peer 1 has got all that was free")
			receive := w.fill(t, 1, kept, bytes)
			w.fake.Kill(1, errBroken)
			soonTrue(t, func() bool { w.engines[0].Poll(); return w.engines[0].Down(1) != nil })
			receive()
			require.Greater(t, w.grown(t, 2, budget/cost, bytes), most+first-2*cost, "peer 2 has got the first window of peer 1, too")
		})
	}
}

// grown lets rank 0 hold n messages of a peer, several times, so that the peer's window grows as far as possible. It
// returns the cost of the messages whose bytes rank 0 held.
func (w *world) grown(t *testing.T, peer, n, bytes int) (held int) {
	t.Helper()
	for range 10 {
		receive := w.fill(t, peer, n, bytes)
		held, _ = w.engines[0].Held()
		receive()
	}
	return held
}

// fill lets a peer send n messages to rank 0. It returns when they have arrived. The function receive receives them.
func (w *world) fill(t *testing.T, peer, n, bytes int) (receive func()) {
	t.Helper()
	e, buf := w.engines[0], make([]byte, bytes)
	var sends []engine.Handle
	for range n {
		sends = append(sends, w.engines[peer].Isend(engine.Match{Peer: 0, Tag: 1}, 0, buf, engine.Standard))
	}
	soonTrue(t, func() bool { return len(e.Unreceived()) == n })
	return func() {
		for range n {
			_, err := e.Recv(none, engine.Match{Peer: peer, Tag: 1}, 0, make([]byte, bytes))
			require.NoError(t, err)
		}
		for _, err := range w.engines[peer].WaitAll(none, sends) {
			require.NoError(t, err)
		}
	}
}

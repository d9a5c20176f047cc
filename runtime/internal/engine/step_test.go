package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// A step is one poll of one rank. The tests of this file send a message by every protocol and
// interfere after every possible number of steps.

// nowhere is an address that no message matches. A probe for it only polls.
var nowhere = engine.Match{Context: 999, Peer: 0, Tag: 1}

// quiet returns a world whose engines make progress only when the test calls step.
func quiet(tb testing.TB, o transporttest.FakeOptions) *world {
	tb.Helper()
	return newWorldOf(tb, 2, o, false, func(c *engine.Config) { c.ChunkBytes = 4096 })
}

// step polls the ranks in turn, n times in all.
func (w *world) step(n int) {
	for i := range n {
		m := nowhere
		m.Peer = (i + 1) % len(w.engines)
		w.engines[i%len(w.engines)].Iprobe(m)
	}
}

// finish calls step until the request is finished.
func (w *world) finish(tb testing.TB, r engine.Handle) (engine.Status, error) {
	tb.Helper()
	for range 20_000 {
		if s, ok, err := r.Test(); ok {
			return s, err
		}
		w.step(2)
	}
	require.Fail(tb, "a request does not finish")
	return engine.Status{}, nil
}

// scene describes one message of one protocol.
type scene struct {
	name    string
	options transporttest.FakeOptions
	size    int
	mode    engine.Mode
	// The receive is posted only after the send has been announced.
	late bool
}

// scenes returns all protocols, each with an early and a late receive.
func scenes() []scene {
	var list []scene
	for _, late := range []bool{false, true} {
		for _, s := range []scene{
			{"eager", transporttest.FakeOptions{}, 100, engine.Standard, late},
			{"eager refused", transporttest.FakeOptions{ConnectPolls: 4}, 100, engine.Standard, late},
			{"synchronous", transporttest.FakeOptions{}, 100, engine.Synchronous, late},
			{"empty synchronous", transporttest.FakeOptions{}, 0, engine.Synchronous, late},
			{"get", transporttest.FakeOptions{NoPut: true}, 20_000, engine.Standard, late},
			{"put", transporttest.FakeOptions{NoGet: true}, 20_000, engine.Standard, late},
			{"copy", transporttest.FakeOptions{NoGet: true, NoPut: true, RingMessages: 2}, 20_000, engine.Standard, late},
			{"get fails", transporttest.FakeOptions{FailRate: 0.9}, 20_000, engine.Standard, late},
			{"get with storms", transporttest.FakeOptions{AgainRate: 0.5, DelayPolls: 3, ConnectPolls: 5}, 20_000, engine.Standard, late},
		} {
			s.name = fmt.Sprintf("%s/late %v", s.name, late)
			s.options.Seed = 7
			list = append(list, s)
		}
	}
	return list
}

// maxSteps is more than the number of steps of any scene.
const maxSteps = 120

// moments returns the numbers of steps after which a test interferes. With -short, these are the
// first steps, in which most events happen, and some of the others.
func moments() []int {
	var all []int
	for steps := range maxSteps {
		if !testing.Short() || steps < maxSteps/6 || rand.IntN(10) == 0 {
			all = append(all, steps)
		}
	}
	return all
}

// play runs a scene and calls interfere after the given number of steps. It returns both requests and
// the receive buffer.
func play(w *world, s scene, steps int, interfere func(send, receive engine.Handle)) (send, receive engine.Handle, in []byte) {
	in = make([]byte, s.size)
	pause := steps % 2 * 60
	m := engine.Match{Context: 1, Peer: 1, Tag: 4}
	from := engine.Match{Context: 1, Peer: 0, Tag: 4}
	post := func() { receive = w.engines[1].Irecv(from, 0, in) }
	if !s.late {
		post()
	}
	send = w.engines[0].Isend(m, 0, pattern(s.size, 3), s.mode)
	if s.late {
		before := min(steps, 8)
		w.step(before)
		steps -= before
		if before == 8 {
			post()
		}
	}
	w.step(steps)
	interfere(send, receive)
	if receive == (engine.Handle{}) {
		// Let the interference and its consequences take effect before the receive is posted.
		w.step(pause)
		post()
	}
	return send, receive, in
}

func TestCancelOfTheSendAtEveryStep(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			canceled, went := 0, 0
			for _, steps := range moments() {
				w := quiet(t, s.options)
				send, receive, in := play(w, s, steps, func(send, _ engine.Handle) { send.Cancel() })
				_, err := w.finish(t, send)
				if errors.Is(err, engine.ErrCanceled) {
					// No message has arrived. Therefore a later message matches the receive.
					canceled++
					again := w.engines[0].Isend(engine.Match{Context: 1, Peer: 1, Tag: 4}, 0, pattern(s.size, 3), engine.Standard)
					_, err = w.finish(t, again)
				} else {
					went++
				}
				require.NoError(t, err, "after %d steps", steps)
				_, err = w.finish(t, receive)
				require.NoError(t, err, "after %d steps", steps)
				require.Equal(t, pattern(s.size, 3), in, "after %d steps", steps)
				w.settle(t)
			}
			require.NotZero(t, went, "the message never went")
			if s.late && (s.mode == engine.Synchronous || s.size > 512) {
				require.NotZero(t, canceled, "nothing was ever cancelled")
			}
		})
	}
}

func TestCancelOfTheReceiveAtEveryStep(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			for _, steps := range moments() {
				w := quiet(t, s.options)
				send, receive, in := play(w, s, steps, func(_, receive engine.Handle) {
					if receive != (engine.Handle{}) {
						receive.Cancel()
					}
				})
				_, err := w.finish(t, receive)
				if errors.Is(err, engine.ErrCanceled) {
					// The message is not lost.
					receive = w.engines[1].Irecv(engine.Match{Context: 1, Peer: engine.AnySource, Tag: 4}, 0, in)
					_, err = w.finish(t, receive)
				}
				require.NoError(t, err, "after %d steps", steps)
				_, err = w.finish(t, send)
				require.NoError(t, err, "after %d steps", steps)
				require.Equal(t, pattern(s.size, 3), in, "after %d steps", steps)
				w.settle(t)
			}
		})
	}
}

func TestDeathAtEveryStep(t *testing.T) {
	for _, s := range scenes() {
		for victim := range 2 {
			t.Run(fmt.Sprintf("%s/rank %d", s.name, victim), func(t *testing.T) {
				for _, steps := range moments() {
					w := quiet(t, s.options)
					send, receive, in := play(w, s, steps, func(_, _ engine.Handle) {
						w.fake.Kill(victim, errors.New("killed"))
					})
					survivor, peer := receive, 0
					if victim == 1 {
						survivor, peer = send, 1
					}
					status, err := w.finish(t, survivor)
					var lost *engine.PeerError
					if errors.As(err, &lost) {
						require.Equal(t, peer, lost.Rank)
						require.ErrorIs(t, err, transport.ErrPeerDown)
						require.Zero(t, status.Bytes, "after %d steps", steps)
					} else {
						require.NoError(t, err, "after %d steps", steps)
						if victim == 0 {
							require.Equal(t, s.size, status.Bytes)
							require.Equal(t, pattern(s.size, 3), in, "after %d steps", steps)
						}
					}
					// The survivor continues.
					e := w.engines[1-victim]
					self := engine.Match{Peer: 1 - victim, Tag: 1}
					require.NoError(t, e.Send(none, self, 0, []byte("x"), engine.Standard))
					_, err = e.Recv(none, self, 0, make([]byte, 1))
					require.NoError(t, err)
					for range 50 {
						e.Iprobe(nowhere)
					}
					err = e.Send(none, engine.Match{Context: 1, Peer: peer, Tag: 4}, 0, nil, engine.Standard)
					require.ErrorAs(t, err, &lost, "after %d steps", steps)
					require.Zero(t, w.fake.Exposed(1-victim), "after %d steps", steps)
				}
			})
		}
	}
}

// settle calls step until no rank has an operation in progress. It then requires that all credit
// is returned.
func (w *world) settle(tb testing.TB) {
	tb.Helper()
	for range 2000 {
		idle := true
		for _, e := range w.engines {
			idle = idle && e.Idle()
		}
		if idle {
			break
		}
		w.step(2)
	}
	for rank, e := range w.engines {
		require.True(tb, e.Idle(), "rank %d", rank)
		require.Zero(tb, w.fake.Exposed(rank), "rank %d", rank)
		held, _ := e.Held()
		require.Zero(tb, held, "rank %d keeps credit", rank)
	}
	for from, e := range w.engines {
		for to, peer := range w.engines {
			if from != to {
				require.Equal(tb, peer.Charged(from), e.Spent(to), "credit of rank %d at rank %d", from, to)
			}
		}
	}
}

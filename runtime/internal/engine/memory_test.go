package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// store provides a Config.Allocate that waits until the test lets it continue.
type store struct {
	asked chan int
	give  chan error
}

func newStore() *store { return &store{make(chan int, 1), make(chan error)} }

func (s *store) allocate(n int) ([]byte, error) {
	s.asked <- n
	if err := <-s.give; err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}

// received has the results of RecvMessage.
type received struct {
	m   engine.Message
	err error
}

// receiving starts a RecvMessage on a goroutine. It returns the channel of the result.
func (s *store) receiving(ctx context.Context, e *engine.Engine, from engine.Match) chan received {
	done := make(chan received, 1)
	go func() {
		m, err := e.RecvMessage(ctx, from)
		done <- received{m, err}
	}()
	return done
}

// TestMemoryIsMadeOutsideTheLock checks that other operations continue while memory is allocated
// for a message. Events that concern the message, such as the loss of its sender, take effect after
// the allocation.
func TestMemoryIsMadeOutsideTheLock(t *testing.T) {
	const n = 200_000
	errEmpty, errEnd := errors.New("the store is empty"), errors.New("the job ends")
	for _, c := range []struct {
		name     string
		from     int
		meantime func(w *world, send engine.Handle, cancel func())
		give     error
		check    func(t *testing.T, w *world, got received, sent error)
	}{
		{"nothing happens", 0, nil, nil, nil},
		{"of the rank itself", 1, nil, nil, nil},
		{"the context ends", 0, func(_ *world, _ engine.Handle, cancel func()) { cancel() }, nil, nil},
		{"the sender cancels", 0, func(_ *world, send engine.Handle, _ func()) { send.Cancel() }, nil, nil},
		{"the sender cancels, of the rank itself", 1, func(_ *world, send engine.Handle, _ func()) { send.Cancel() }, nil, nil},
		{"the communicator is broken", 0, func(w *world, _ engine.Handle, _ func()) { w.engines[1].Break(1, errEnd) }, nil, nil},
		{"there is none", 0, nil, errEmpty, func(t *testing.T, _ *world, got received, sent error) {
			t.Helper()
			var short *engine.MemoryError
			require.ErrorAs(t, got.err, &short)
			require.Equal(t, engine.MemoryError{Source: 0, Tag: 1, Bytes: n, Cause: errEmpty}, *short)
			require.ErrorIs(t, got.err, errEmpty)
			require.NoError(t, sent)
		}},
		{"there is none, of the rank itself", 1, nil, errEmpty, func(t *testing.T, _ *world, got received, sent error) {
			t.Helper()
			require.ErrorIs(t, got.err, errEmpty)
			require.NoError(t, sent)
		}},
		{"the sender dies", 0, func(w *world, _ engine.Handle, _ func()) {
			w.fake.Kill(0, errEnd)
			for w.engines[1].Down(0) == nil {
				w.engines[1].Iprobe(at(1, 9))
			}
		}, nil, func(t *testing.T, _ *world, got received, _ error) {
			t.Helper()
			var lost *engine.PeerError
			require.ErrorAs(t, got.err, &lost)
			require.Equal(t, 0, lost.Rank)
		}},
		{"the engine ends", 0, func(w *world, _ engine.Handle, _ func()) { w.engines[1].Abort(errEnd) }, nil, func(t *testing.T, _ *world, got received, _ error) {
			t.Helper()
			require.ErrorIs(t, got.err, errEnd)
		}},
		{"the engine ends, of the rank itself", 1, func(w *world, _ engine.Handle, _ func()) { w.engines[1].Abort(errEnd) }, nil, func(t *testing.T, _ *world, got received, sent error) {
			t.Helper()
			require.ErrorIs(t, got.err, errEnd)
			require.ErrorIs(t, sent, errEnd)
		}},
	} {
		for _, late := range []bool{false, true} {
			name := c.name
			if late {
				name += ", expected"
			}
			t.Run(name, func(t *testing.T) {
				s := newStore()
				w := newWorld(t, 3, transporttest.FakeOptions{}, func(c *engine.Config) { c.Allocate = s.allocate })
				e := w.engines[1]
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var send engine.Handle
				var done chan received
				if !late {
					send = w.engines[c.from].Isend(at(1, 1), 0, pattern(n, 3), engine.Standard)
				}
				done = s.receiving(ctx, e, at(c.from, 1))
				if late {
					for len(e.Blocked()) == 0 {
						time.Sleep(100 * time.Microsecond) // interval between two checks
					}
					send = w.engines[c.from].Isend(at(1, 1), 0, pattern(n, 3), engine.Standard)
				}
				require.Equal(t, n, <-s.asked)
				// Other operations do not wait for the memory.
				require.NoError(t, w.engines[2].Send(none, at(1, 2), 0, []byte("x"), engine.Standard))
				_, err := e.Recv(none, at(2, 2), 0, make([]byte, 1))
				require.NoError(t, err)
				if c.meantime != nil {
					c.meantime(w, send, cancel)
				}
				s.give <- c.give
				got := <-done
				var sent error
				if c.name != "the sender dies" && (c.name != "the engine ends") {
					_, sent = send.Wait(none)
				}
				if c.check != nil {
					c.check(t, w, got, sent)
					return
				}
				require.NoError(t, got.err)
				require.NoError(t, sent)
				require.Equal(t, engine.Status{Source: c.from, Tag: 1, Bytes: n}, got.m.Status)
				require.Equal(t, pattern(n, 3), got.m.Bytes)
			})
		}
	}
}

// TestMemoryOfShortMessages checks that short messages, and messages whose bytes have arrived, do
// not use Config.Allocate: their memory is allocated at the match with their length.
func TestMemoryOfShortMessages(t *testing.T) {
	for name, o := range map[string]transporttest.FakeOptions{
		"eager": {MaxEager: 1 << 20, EagerBest: 1 << 20}, "rendezvous": {MaxEager: 64, EagerBest: 64},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, o, func(c *engine.Config) {
				c.Allocate = func(n int) ([]byte, error) { return nil, transport.ErrNotSupported }
			})
			for _, n := range []int{0, 1, 64, 65, 1000, 64 << 10, 64<<10 + 1} {
				send := w.engines[0].Isend(at(1, 1), 0, pattern(n, n), engine.Standard)
				m, err := w.engines[1].RecvMessage(none, at(0, 1))
				if n == 64<<10+1 && name == "rendezvous" {
					require.ErrorIs(t, err, transport.ErrNotSupported)
				} else {
					require.NoError(t, err)
					require.Equal(t, pattern(n, n), m.Bytes)
				}
				_, err = send.Wait(none)
				require.NoError(t, err)
			}
		})
	}
}

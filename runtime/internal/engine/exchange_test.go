package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// protocols has options of the fake transport. Each of the first four enables a single protocol for
// long messages. The others enable all protocols, three of them with failures or delays.
var protocols = []struct {
	name    string
	options transporttest.FakeOptions
}{
	{"get", transporttest.FakeOptions{NoPut: true}},
	{"get needs the sender", transporttest.FakeOptions{NoPut: true, TargetPolls: true}},
	{"put", transporttest.FakeOptions{NoGet: true}},
	{"copy", transporttest.FakeOptions{NoGet: true, NoPut: true}},
	{"all", transporttest.FakeOptions{}},
	{"failing", transporttest.FakeOptions{FailRate: 0.5}},
	{"storms", transporttest.FakeOptions{AgainRate: 0.3, DelayPolls: 4, RingMessages: 4}},
	{"connecting", transporttest.FakeOptions{ConnectPolls: 20, DelayPolls: 3}},
}

func TestExchangeOfEverySize(t *testing.T) {
	sizes := []int{0, 1, 8, 511, 512, 513, 4095, 4096, 4097, 10_000, 300_000}
	for _, p := range protocols {
		for _, mode := range []engine.Mode{engine.Standard, engine.Synchronous} {
			t.Run(fmt.Sprintf("%s/mode %d", p.name, mode), func(t *testing.T) {
				o := p.options
				o.Seed = 1
				w := newWorld(t, 2, o, func(c *engine.Config) { c.ChunkBytes = 64 << 10 })
				w.each(t, func(rank int, e *engine.Engine) error {
					for round, n := range sizes {
						to := engine.Match{Context: 3, Peer: 1 - rank, Tag: round}
						in := make([]byte, n)
						r := e.Irecv(to, 0, in)
						if err := e.Send(none, to, 0, pattern(n, rank), mode); err != nil {
							return err
						}
						s, err := r.Wait(none)
						if err != nil {
							return err
						}
						want := engine.Status{Source: 1 - rank, Tag: round, Bytes: n}
						if s != want || string(in) != string(pattern(n, 1-rank)) {
							return fmt.Errorf("size %d: %+v", n, s)
						}
					}
					return nil
				})
				for rank := range w.engines {
					require.Zero(t, w.fake.Exposed(rank), "memory left exposed")
				}
			})
		}
	}
}

func TestUnexpectedMessagesOfEverySize(t *testing.T) {
	sizes := []int{0, 1, 512, 513, 4096, 4097, 100_000}
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			o := p.options
			o.Seed = 2
			w := newWorld(t, 2, o, nil)
			w.each(t, func(rank int, e *engine.Engine) error {
				if rank == 0 {
					var rs []engine.Handle
					for _, n := range sizes {
						rs = append(rs, e.Isend(engine.Match{Peer: 1, Tag: 5}, 0, pattern(n, n), engine.Standard))
					}
					rs = append(rs, e.Isend(engine.Match{Peer: 1, Tag: 6}, 0, nil, engine.Standard))
					return errors.Join(e.WaitAll(none, rs)...)
				}
				// The last message is received first, so that all others are unexpected.
				if _, err := e.Recv(none, engine.Match{Peer: 0, Tag: 6}, 0, nil); err != nil {
					return err
				}
				for _, n := range sizes {
					in := make([]byte, n)
					s, err := e.Recv(none, engine.Match{Peer: engine.AnySource, Tag: engine.AnyTag}, 0, in)
					if err != nil {
						return err
					}
					if s.Bytes != n || s.Source != 0 || s.Tag != 5 || string(in) != string(pattern(n, n)) {
						return fmt.Errorf("size %d: %+v", n, s)
					}
				}
				return nil
			})
		})
	}
}

func TestSelf(t *testing.T) {
	w := newWorld(t, 1, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	for _, n := range []int{0, 1, 4096, 64 << 10, 100_000} {
		for _, mode := range []engine.Mode{engine.Standard, engine.Synchronous} {
			self := engine.Match{Peer: 0, Tag: 1}
			// The receive is posted first.
			in := make([]byte, n)
			r := e.Irecv(self, 0, in)
			require.NoError(t, e.Send(none, self, 0, pattern(n, 1), mode))
			s, err := r.Wait(none)
			require.NoError(t, err)
			require.Equal(t, engine.Status{Tag: 1, Bytes: n}, s)
			require.Equal(t, pattern(n, 1), in)
			// The message is sent first.
			q := e.Isend(self, 0, pattern(n, 2), mode)
			s, err = e.Recv(none, engine.Match{Peer: engine.AnySource, Tag: engine.AnyTag}, 0, in)
			require.NoError(t, err)
			require.Equal(t, n, s.Bytes)
			require.Equal(t, pattern(n, 2), in)
			_, err = q.Wait(none)
			require.NoError(t, err)
		}
	}
}

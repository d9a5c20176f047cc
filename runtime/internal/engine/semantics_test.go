package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// at returns an address in context 1.
func at(peer, tag int) engine.Match { return engine.Match{Context: 1, Peer: peer, Tag: tag} }

func TestTruncationLosesNothingElse(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			w := newWorld(t, 2, p.options, nil)
			for _, n := range []int{8, 5000, 50_000} {
				for _, room := range []int{0, n / 2} {
					out := w.engines[0].Isend(at(1, 1), 0, pattern(n, 1), engine.Standard)
					next := w.engines[0].Isend(at(1, 1), 0, pattern(3, 2), engine.Standard)
					in := make([]byte, room)
					s, err := w.engines[1].Recv(none, at(0, 1), 0, in)
					var short *engine.TruncatedError
					require.ErrorAs(t, err, &short)
					require.Equal(t, engine.TruncatedError{Source: 0, Tag: 1, Sent: n, Room: room}, *short)
					require.Equal(t, room, s.Bytes)
					require.Equal(t, pattern(n, 1)[:room], in)
					in = make([]byte, 3)
					_, err = w.engines[1].Recv(none, at(0, 1), 0, in)
					require.NoError(t, err)
					require.Equal(t, pattern(3, 2), in)
					require.NoError(t, errors.Join(w.engines[0].WaitAll(none, []engine.Handle{out, next})...))
				}
			}
		})
	}
}

func TestTypesAgreeByTheirText(t *testing.T) {
	// The two ranks use different numbers for the same layouts. The long texts differ only at
	// their ends.
	long := "struct{" + strings.Repeat("field int64; ", 1000)
	names := []map[engine.Type]string{
		{3: "int64", 5: "float64", 64: "struct{a int64}", 65: "struct{b int8}", 66: long + "}"},
		{3: "int64", 5: "float64", 90: "struct{a int64}", 64: "struct{b int8}", 91: long + "}", 92: long + "int8}"},
	}
	for _, size := range []int{8, 20_000} {
		shortest := transporttest.FakeOptions{MaxEager: 900, EagerBest: 512, ConnectPolls: 3} // frames of 1 KiB with headers
		w := newWorld(t, 2, shortest, func(c *engine.Config) {
			c.TypeName = func(t engine.Type) string { return names[c.Rank][t] }
		})
		for _, c := range []struct {
			sent, want engine.Type
			text       [2]string
		}{
			{0, 5, [2]string{}},
			{5, 0, [2]string{}},
			{5, 5, [2]string{}},
			{64, 90, [2]string{}},
			{65, 64, [2]string{}},
			{64, 0, [2]string{}},
			{66, 91, [2]string{}},
			{3, 5, [2]string{"int64", "float64"}},
			{64, 64, [2]string{"struct{a int64}", "struct{b int8}"}},
			{64, 3, [2]string{"struct{a int64}", "int64"}},
			{5, 90, [2]string{"float64", "struct{a int64}"}},
		} {
			for _, self := range []bool{false, true} {
				if self && (c.sent >= 64 || c.want >= 64) {
					continue
				}
				from, target := 0, 1
				if self {
					target = 0
				}
				out := w.engines[from].Isend(at(target, 2), c.sent, make([]byte, size), engine.Standard)
				_, err := w.engines[target].Recv(none, at(from, 2), c.want, make([]byte, size))
				if c.text[0] == "" {
					require.NoError(t, err, "%v", c)
				} else {
					var mismatch *engine.TypeMismatchError
					require.ErrorAs(t, err, &mismatch, "%v", c)
					require.Equal(t, engine.TypeMismatchError{Source: from, Tag: 2, Sent: c.text[0], Want: c.text[1]}, *mismatch)
				}
				_, err = out.Wait(none)
				require.NoError(t, err)
			}
		}
		out := w.engines[0].Isend(at(1, 2), 66, nil, engine.Standard)
		_, err := w.engines[1].Recv(none, at(0, 2), 92, nil)
		var mismatch *engine.TypeMismatchError
		require.ErrorAs(t, err, &mismatch)
		_, err = out.Wait(none)
		require.NoError(t, err)
	}
}

func TestHandover(t *testing.T) {
	type release struct {
		holder int
		off    uint64
	}
	var back []release
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) {
		if c.Rank == 0 {
			c.Release = func(holder int, off uint64) { back = append(back, release{holder, off}) }
		}
	})
	a, b := w.engines[0], w.engines[1]
	arena := w.fake.Arena(0)
	lease := func(off, n int) (transport.Key, []byte) {
		mem, err := arena.Bytes(off, n)
		require.NoError(t, err)
		copy(mem, pattern(n, off))
		return arena.Key(off), mem
	}
	give := func(peer int, typ engine.Type, k transport.Key, mem []byte) {
		t.Helper()
		reads, err := a.SendHandover(none, at(peer, 1), typ, k, mem)
		require.NoError(t, err)
		require.False(t, reads, "only its key is sent")
	}
	returned := func(holder int, k transport.Key) {
		t.Helper()
		require.NoError(t, a.Await(none, func() bool { return len(back) > 0 }, "release"))
		require.Equal(t, []release{{holder, k.Addr}}, back)
		back = nil
	}

	// The receiver gets the sender's memory without a copy.
	k, mem := lease(4096, 10_000)
	give(1, 5, k, mem)
	m, err := b.RecvMessage(none, at(engine.AnySource, 1))
	require.NoError(t, err)
	require.Equal(t, engine.Status{Source: 0, Tag: 1, Bytes: 10_000, Type: 5}, m.Status)
	require.Same(t, &mem[0], &m.Bytes[0])
	m.Release()
	m.Release()
	returned(1, k)

	// A receive into a buffer copies the message and releases the memory.
	k, mem = lease(20_000, 300)
	give(1, 0, k, mem)
	s, err := b.Probe(none, at(0, 1))
	require.NoError(t, err)
	require.Equal(t, engine.Status{Source: 0, Tag: 1, Bytes: 300}, s)
	in := make([]byte, 300)
	s, err = b.Recv(none, at(0, 1), 0, in)
	require.NoError(t, err)
	require.Equal(t, engine.Status{Source: 0, Tag: 1, Bytes: 300}, s)
	require.Equal(t, pattern(300, 20_000), in)
	returned(1, k)

	// The rank sends to itself.
	give(0, 0, k, mem)
	m, err = a.RecvMessage(none, at(0, 1))
	require.NoError(t, err)
	require.Same(t, &mem[0], &m.Bytes[0])
	m.Release()
	returned(0, k)

	// RecvMessage returns an ordinary message in memory of the receiver.
	require.NoError(t, b.Send(none, at(0, 1), 5, pattern(100, 9), engine.Standard))
	m, err = a.RecvMessage(none, at(1, engine.AnyTag))
	require.NoError(t, err)
	require.Equal(t, engine.Status{Source: 1, Tag: 1, Bytes: 100, Type: 5}, m.Status)
	require.Equal(t, pattern(100, 9), m.Bytes)
	m.Release()
}

func TestMatchedProbe(t *testing.T) {
	for _, p := range protocols[:5] {
		t.Run(p.name, func(t *testing.T) {
			w := newWorld(t, 2, p.options, nil)
			for _, n := range []int{0, 100, 9000} {
				first := w.engines[0].Isend(at(1, 1), 0, pattern(n, 1), engine.Standard)
				second := w.engines[0].Isend(at(1, 1), 0, pattern(n, 2), engine.Synchronous)
				m, err := w.engines[1].Mprobe(none, at(engine.AnySource, 1))
				require.NoError(t, err)
				require.Equal(t, engine.Status{Source: 0, Tag: 1, Bytes: n}, m.Status())
				in := make([]byte, n)
				_, err = w.engines[1].Recv(none, at(0, 1), 0, in) // gets the second message
				require.NoError(t, err)
				require.Equal(t, pattern(n, 2), in)
				first.Cancel() // too late: the message is matched
				_, err = m.Recv(none, 0, in)
				require.NoError(t, err)
				require.Equal(t, pattern(n, 1), in)
				require.NoError(t, errors.Join(w.engines[0].WaitAll(none, []engine.Handle{first, second})...))
				_, ok, err := w.engines[1].Improbe(at(0, 1))
				require.NoError(t, err)
				require.False(t, ok)
			}
		})
	}
}

func TestContextsEndBlockingCalls(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	reason := errors.New("enough")
	for name, call := range map[string]func(context.Context) error{
		"receive": func(ctx context.Context) error {
			_, err := e.Recv(ctx, at(1, 1), 0, nil)
			return err
		},
		"receive any": func(ctx context.Context) error {
			_, err := e.RecvMessage(ctx, at(engine.AnySource, 1))
			return err
		},
		"long send": func(ctx context.Context) error {
			return e.Send(ctx, at(1, 1), 0, make([]byte, 100_000), engine.Standard)
		},
		"synchronous send": func(ctx context.Context) error {
			return e.Send(ctx, at(1, 1), 0, nil, engine.Synchronous)
		},
		"send to itself": func(ctx context.Context) error {
			return e.Send(ctx, at(0, 1), 0, nil, engine.Synchronous)
		},
		"probe": func(ctx context.Context) error {
			_, err := e.Probe(ctx, at(1, 1))
			return err
		},
		"await": func(ctx context.Context) error {
			return e.Await(ctx, func() bool { return false }, "word")
		},
		"any of two": func(ctx context.Context) error {
			a, b := e.Irecv(at(1, 1), 0, nil), e.Irecv(at(1, 2), 0, nil)
			i, _, err := waitAny(ctx, e, engine.Handle{}, a, b)
			require.Equal(t, -1, i)
			for _, r := range []engine.Handle{a, b} {
				r.Cancel()
				_, err := r.Wait(none)
				require.ErrorIs(t, err, engine.ErrCanceled)
			}
			return err
		},
	} {
		for _, late := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if !late {
				cancel(reason)
			}
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			if late {
				for len(e.Blocked()) == 0 {
					time.Sleep(100 * time.Microsecond) // interval between two checks
				}
				cancel(reason)
			}
			err := <-done
			require.ErrorIs(t, err, engine.ErrCanceled, name)
			require.ErrorIs(t, err, reason, name)
		}
	}
	for rank := range w.engines {
		require.Zero(t, w.fake.Exposed(rank))
	}
	// These operations leave no state.
	out := e.Isend(at(1, 1), 0, pattern(9, 1), engine.Standard)
	in := make([]byte, 9)
	_, err := w.engines[1].Recv(none, at(0, 1), 0, in)
	require.NoError(t, err)
	require.Equal(t, pattern(9, 1), in)
	_, err = out.Wait(none)
	require.NoError(t, err)
}

func TestBlockedSaysWhatWaits(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	before := time.Now()
	done := make(chan error, 3)
	go func() {
		_, err := e.Recv(none, at(engine.AnySource, 8), 0, make([]byte, 16))
		done <- err
	}()
	go func() { done <- e.Send(none, at(1, 9), 0, make([]byte, 100_000), engine.Standard) }()
	go func() { done <- e.Await(none, func() bool { return false }, "barrier") }()
	var list []engine.Blocked
	for len(list) < 3 {
		time.Sleep(100 * time.Microsecond) // interval between two checks
		list = e.Blocked()
	}
	for _, b := range list {
		require.WithinRange(t, b.Since, before, time.Now())
	}
	for i := range list {
		list[i].Since, list[i].Stack = time.Time{}, nil
	}
	require.ElementsMatch(t, []engine.Blocked{
		{Op: "receive", Peer: -1, Tag: 8, Context: 1, Bytes: 16},
		{Op: "send", Peer: 1, Tag: 9, Context: 1, Bytes: 100_000},
		{Op: "barrier", Peer: -1, Tag: -1, Await: true},
	}, list)
	reason := errors.New("the job ends")
	e.Abort(reason)
	for range 3 {
		require.ErrorIs(t, <-done, reason)
	}
	require.Empty(t, e.Blocked())
	require.ErrorIs(t, e.Send(none, at(1, 1), 0, nil, engine.Standard), reason)
	_, err := e.Recv(none, at(1, 1), 0, nil)
	require.ErrorIs(t, err, reason)
	_, err = e.Irecv(at(0, 1), 0, nil).Wait(none)
	require.ErrorIs(t, err, reason)
	_, _, err = e.Iprobe(at(1, 1))
	require.ErrorIs(t, err, reason)
	require.ErrorIs(t, e.Await(none, func() bool { return false }, "word"), reason)
}

func TestAddressesOutOfRange(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	for _, m := range []engine.Match{{Peer: 2}, {Peer: -1}, {Peer: -2}, {Peer: 1, Tag: -1}, {Peer: 1, Tag: 1 << 31}} {
		require.ErrorIs(t, e.Send(none, m, 0, nil, engine.Standard), engine.ErrAddress, "%v", m)
	}
	for _, m := range []engine.Match{{Peer: 2}, {Peer: -2}, {Peer: 1, Tag: -2}, {Peer: 1, Tag: 1 << 31}} {
		_, err := e.Recv(none, m, 0, nil)
		require.ErrorIs(t, err, engine.ErrAddress, "%v", m)
		_, _, err = e.Iprobe(m)
		require.ErrorIs(t, err, engine.ErrAddress, "%v", m)
	}
}

// waitAny calls WaitAny with some handles.
func waitAny(ctx context.Context, e *engine.Engine, hs ...engine.Handle) (int, engine.Status, error) {
	return e.WaitAny(ctx, len(hs), func(i int) engine.Handle { return hs[i] })
}

func TestWaitAny(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	i, _, err := waitAny(none, e, engine.Handle{}, engine.Handle{})
	require.NoError(t, err)
	require.Equal(t, -1, i)
	rs := make([]engine.Handle, 4)
	for i := range rs {
		rs[i] = e.Irecv(at(1, i), 0, make([]byte, 8))
	}
	for _, tag := range []int{2, 0, 3, 1} {
		require.NoError(t, w.engines[1].Send(none, at(0, tag), 0, make([]byte, tag), engine.Standard))
		i, s, err := waitAny(none, e, rs...)
		require.NoError(t, err)
		require.Equal(t, tag, i)
		require.Equal(t, tag, s.Bytes)
		rs[i] = engine.Handle{}
	}
}

// TestAbortSendsNothingHalf aborts a rank whose eager message the lane has refused. The peer must
// not get an empty message in place of it.
func TestAbortSendsNothingHalf(t *testing.T) {
	w := quiet(t, transporttest.FakeOptions{ConnectPolls: 5})
	r := w.engines[0].Isend(at(1, 1), 0, pattern(100, 1), engine.Standard)
	reason := errors.New("the job ends")
	w.engines[0].Abort(reason)
	_, err := r.Wait(none)
	require.ErrorIs(t, err, reason)
	for range 100 {
		w.engines[0].Poll()
		_, ok, err := w.engines[1].Iprobe(at(0, 1))
		require.NoError(t, err)
		require.False(t, ok)
	}
}

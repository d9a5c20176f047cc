package transporttest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// log is a handler that records the callbacks.
type log struct {
	lines    []string
	onArrive func()
}

func (l *log) Arrive(peer int, h transport.Header, payload []byte) {
	l.lines = append(l.lines, fmt.Sprintf("message %d of %d: %q", h.A, peer, payload))
	if l.onArrive != nil {
		l.onArrive()
	}
}

func (l *log) Completed(peer int, token, value uint64, err error) {
	l.lines = append(l.lines, fmt.Sprintf("completion %d of %d: %d %v", token, peer, value, err))
}

func (l *log) Down(down *transport.PeerDown) {
	l.lines = append(l.lines, down.Error())
}

// endpoint returns the endpoint through which one rank (the argument from) sends to another (the
// argument to).
func endpoint(t *testing.T, f *transporttest.Fake, from, to int) transport.Endpoint {
	t.Helper()
	e, err := f.Transport(from).Endpoint(to)
	require.NoError(t, err)
	return e
}

// poll polls a rank once.
func poll(t *testing.T, f *transporttest.Fake, rank int, h transport.Handler) int {
	t.Helper()
	n, err := f.Transport(rank).Poll(h, 8)
	require.NoError(t, err)
	return n
}

// expose exposes 64 bytes of a rank for reading and writing.
func expose(t *testing.T, f *transporttest.Fake, rank int) transport.Key {
	t.Helper()
	k, err := f.Transport(rank).Expose(make([]byte, 64), transport.AccessRead|transport.AccessWrite)
	require.NoError(t, err)
	return k
}

// requirePanic fails the test if run does not panic with a text that contains want.
func requirePanic(t *testing.T, want string, run func()) {
	t.Helper()
	defer func() {
		t.Helper()
		require.Contains(t, fmt.Sprint(recover()), want)
	}()
	run()
}

func TestFakeDoesNotAllocateForMessages(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	e, payload, h, arrivals := endpoint(t, f, 0, 1), make([]byte, 64), &silent{}, 0
	h.onArrive = func() { arrivals++ }
	allocs := testing.AllocsPerRun(100, func() {
		if e.Send(transport.Header{A: 1}, payload) != nil {
			t.Error("refused")
		}
		if n, err := f.Transport(1).Poll(h, 8); n != 1 || err != nil {
			t.Error("not delivered")
		}
	})
	require.Zero(t, allocs)
	require.Equal(t, 101, arrivals)
}

// silent is a handler that records nothing.
type silent struct{ onArrive func() }

func (s *silent) Arrive(int, transport.Header, []byte) { s.onArrive() }
func (s *silent) Completed(int, uint64, uint64, error) {}
func (s *silent) Down(*transport.PeerDown)             {}

// transcript drives ranks 0 and 1 of three ranks from one goroutine, and returns the results of their calls and
// their events as text.
func transcript(t *testing.T, seed int64) string {
	t.Helper()
	f := transporttest.NewFake(3, transporttest.FakeOptions{
		Seed: seed, AgainRate: 0.3, DelayPolls: 5, ConnectPolls: 4, FailRate: 0.2, RingMessages: 3,
	})
	logs := []*log{{}, {}, {}}
	k, err := f.Transport(1).Expose(make([]byte, 64), transport.AccessRead)
	require.NoError(t, err)
	for i := range 200 {
		if i == 150 {
			f.Kill(2, errors.New("killed"))
		}
		for from := range 2 {
			to := (from + 1) % 3
			err := endpoint(t, f, from, to).Send(transport.Header{A: uint64(i)}, []byte("x"))
			logs[from].lines = append(logs[from].lines, fmt.Sprint("send ", err))
		}
		err := endpoint(t, f, 0, 1).Get(make([]byte, 8), k, uint64(i))
		logs[0].lines = append(logs[0].lines, fmt.Sprint("get ", err))
		for rank := range 2 {
			n := poll(t, f, rank, logs[rank])
			logs[rank].lines = append(logs[rank].lines, fmt.Sprint("events ", n))
		}
	}
	return strings.Join(append(logs[0].lines, logs[1].lines...), "\n")
}

func TestFakeRepeatsItselfForASeed(t *testing.T) {
	require.Equal(t, transcript(t, 7), transcript(t, 7))
	require.NotEqual(t, transcript(t, 7), transcript(t, 8))
	for _, seen := range []string{"try again", "injected fault", "rank 2 is down: killed", "message 1 of 0"} {
		require.Contains(t, transcript(t, 7), seen)
	}
}

func TestFakeFindsMisuse(t *testing.T) {
	for _, misuse := range []struct {
		name, says string
		do         func(t *testing.T, f *transporttest.Fake)
	}{
		{"poll in a handler", "Poll called from within a Handler", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			inHandler(t, f, func() { poll(t, f, 1, &log{}) })
		}},
		{"close in a handler", "Close called from within a Handler", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			inHandler(t, f, func() { require.NoError(t, f.Transport(1).Close()) })
		}},
		{"poll for nothing", "budget of 0", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			_, err := f.Transport(0).Poll(&log{}, 0)
			require.NoError(t, err)
		}},
		{"get after conceal", "get of memory that rank 1 has concealed", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			k := expose(t, f, 1)
			require.NoError(t, f.Transport(1).Conceal(k))
			require.NoError(t, endpoint(t, f, 0, 1).Get(make([]byte, 8), k, 1))
		}},
		{"conceal during a get", "conceals memory while a get of rank 0", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			k := expose(t, f, 1)
			require.NoError(t, endpoint(t, f, 0, 1).Get(make([]byte, 8), k, 1))
			require.NoError(t, f.Transport(1).Conceal(k))
		}},
		{"source changed during a put", "buffer of a put was changed", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			src := make([]byte, 8)
			require.NoError(t, endpoint(t, f, 0, 1).Put(src, expose(t, f, 1), 1))
			src[3] = 1
			poll(t, f, 0, &log{})
		}},
		{"discard of part of a page", "not in whole pages", func(t *testing.T, f *transporttest.Fake) {
			t.Helper()
			require.NoError(t, f.Arena(0).Discard(8, 4096))
		}},
	} {
		t.Run(misuse.name, func(t *testing.T) {
			f := transporttest.NewFake(2, transporttest.FakeOptions{})
			requirePanic(t, misuse.says, func() { misuse.do(t, f) })
		})
	}
}

// inHandler runs a function within a callback of rank 1.
func inHandler(t *testing.T, f *transporttest.Fake, run func()) {
	t.Helper()
	require.NoError(t, endpoint(t, f, 0, 1).Send(transport.Header{}, nil))
	poll(t, f, 1, &log{onArrive: run})
}

// TestFakeFindsConcurrentCalls polls a rank from a second goroutine while the first one is within a callback of
// the same rank. The fake has to panic.
func TestFakeFindsConcurrentCalls(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	inside, found := make(chan struct{}), make(chan string)
	release := make(chan struct{})
	go func() {
		<-inside
		defer func() { found <- fmt.Sprint(recover()); close(release) }()
		_, _ = f.Transport(1).Poll(&log{}, 1)
	}()
	inHandler(t, f, func() {
		close(inside)
		require.Contains(t, <-found, "Poll called from within a Handler")
		<-release
	})
}

func TestFakeCountsExposures(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	k := expose(t, f, 1)
	require.Equal(t, 1, f.Exposed(1))
	require.NoError(t, f.Transport(1).Conceal(k))
	require.Zero(t, f.Exposed(1))
}

func TestFakeSpoilsPayloadsAfterTheCall(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	require.NoError(t, endpoint(t, f, 0, 1).Send(transport.Header{}, []byte("mine")))
	k := &keeper{}
	poll(t, f, 1, k)
	require.NotEqual(t, "mine", string(k.payload))
}

// keeper is a handler that keeps a payload after Arrive has returned, which the contract forbids.
type keeper struct {
	log
	payload []byte
}

func (k *keeper) Arrive(_ int, _ transport.Header, payload []byte) { k.payload = payload }

func TestFakeLetsBulkFail(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{FailRate: 1})
	l := &log{}
	require.NoError(t, endpoint(t, f, 0, 1).Get(make([]byte, 8), expose(t, f, 1), 5))
	poll(t, f, 0, l)
	require.Equal(t, []string{"completion 5 of 1: 0 get fake rank 1: injected fault"}, l.lines)
}

func TestFakeOfADeadRankIsClosed(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	f.Kill(0, errors.New("signal: killed"))
	_, err := f.Transport(0).Poll(&log{}, 1)
	require.ErrorIs(t, err, transport.ErrClosed)
	l := &log{}
	poll(t, f, 1, l)
	require.Equal(t, []string{"rank 0 is down: signal: killed"}, l.lines)
}

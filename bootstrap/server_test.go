package bootstrap_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// world is a server and its ranks, over pipes in this process.
type world struct {
	server   *bootstrap.Server
	sessions []*bootstrap.Session
	agent    []net.Conn // the server's ends of the pipes
	served   []chan error
	events   chan bootstrap.Event
}

func newWorld(t *testing.T, size int) *world {
	t.Helper()
	w := &world{events: make(chan bootstrap.Event, 8*size)}
	w.server = bootstrap.NewServer(size, func(e bootstrap.Event) { w.events <- e })
	for rank := range size {
		mine, theirs := net.Pipe()
		job := bootstrap.Job{Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Nodes: 1, ID: "test", Processors: 1}
		w.sessions = append(w.sessions, bootstrap.Attach(job, theirs, nil, [32]byte{1}))
		w.agent = append(w.agent, mine)
		served := make(chan error, 1)
		w.served = append(w.served, served)
		go func() { served <- w.server.Serve(rank, mine) }()
	}
	w.cleanUp(t)
	return w
}

// cleanUp finalizes the sessions and closes the connections at the end of the test.
func (w *world) cleanUp(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		for rank, s := range w.sessions {
			_ = s.Finalize() // the test may have ended the session before
			_ = w.agent[rank].Close()
			for range s.Notices() { // the channel is closed when the session's goroutine ends
				continue
			}
		}
	})
}

func bytesOf(b []byte) io.Reader { return bytes.NewReader(b) }

// each runs f concurrently for the given ranks and returns their errors by rank.
func (w *world) each(ranks []int, f func(s *bootstrap.Session) error) []error {
	errs := make([]error, len(w.sessions))
	var wait sync.WaitGroup
	for _, rank := range ranks {
		wait.Add(1)
		go func() {
			defer wait.Done()
			errs[rank] = f(w.sessions[rank])
		}()
	}
	wait.Wait()
	return errs
}

func (w *world) all() []int {
	ranks := make([]int, len(w.sessions))
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// exchange lets the given ranks exchange their cards and checks the books that they get.
func (w *world) exchange(t *testing.T, ranks []int) {
	t.Helper()
	errs := w.each(ranks, func(s *bootstrap.Session) error {
		b, err := s.Exchange(t.Context(), s.Card())
		if err != nil {
			return err
		}
		for rank := range b.Size() {
			if c, ok := b.Card(rank); ok && c.Rank != rank {
				return errors.New("wrong card")
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// next returns the next event of a kind and discards events of other kinds.
func (w *world) next(t *testing.T, k bootstrap.EventKind) bootstrap.Event {
	t.Helper()
	for {
		select {
		case e := <-w.events:
			if e.Kind == k {
				return e
			}
		case <-t.Context().Done():
			t.Fatal("no such event")
		}
	}
}

func TestExchangeAndFences(t *testing.T) {
	for _, size := range []int{1, 2, 7, 64} {
		w := newWorld(t, size)
		w.exchange(t, w.all())
		for range 3 {
			for _, err := range w.each(w.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
				require.NoError(t, err)
			}
		}
		for _, err := range w.each(w.all(), (*bootstrap.Session).Finalize) {
			require.NoError(t, err)
		}
		for rank, served := range w.served {
			require.NoError(t, <-served)
			require.Equal(t, bootstrap.RankFinalized, w.server.State(rank))
		}
	}
}

func TestFenceWaitsForTheLast(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	done := make(chan error, 2)
	for _, rank := range []int{0, 1} {
		go func() { done <- w.sessions[rank].Fence(t.Context()) }()
	}
	require.NoError(t, w.sessions[2].Report(1, "before the fence"))
	w.next(t, bootstrap.EventReport)
	require.Empty(t, done)
	require.NoError(t, w.sessions[2].Fence(t.Context()))
	require.NoError(t, <-done)
	require.NoError(t, <-done)
}

func TestCancelledFenceCountsAsCalled(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.sessions[0].Fence(cancelled), context.Canceled)
	require.NoError(t, w.sessions[1].Fence(t.Context()))
	for _, err := range w.each(w.all(), func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
}

func TestCancelledExchange(t *testing.T) {
	w := newWorld(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.sessions[0].Exchange(ctx, w.sessions[0].Card())
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.sessions[0].Exchange(t.Context(), w.sessions[0].Card())
	require.ErrorContains(t, err, "second Exchange")
}

func TestPeerDownIsToldOnceToTheOthers(t *testing.T) {
	w := newWorld(t, 3)
	w.exchange(t, w.all())
	w.server.Gone(1, "was killed by SIGKILL")
	w.server.Gone(1, "was killed by SIGKILL")
	w.server.Dump(7) // the notice of this dump comes after the notices of all earlier calls
	for _, rank := range []int{0, 2} {
		want := bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: 1, Cause: "was killed by SIGKILL"}
		require.Equal(t, want, <-w.sessions[rank].Notices())
		require.Equal(t, bootstrap.Notice{Kind: bootstrap.Dump, Number: 7}, <-w.sessions[rank].Notices())
	}
	require.Equal(t, bootstrap.RankGone, w.server.State(1))
	// The fences of the survivors no longer wait for rank 1.
	for _, err := range w.each([]int{0, 2}, func(s *bootstrap.Session) error { return s.Fence(t.Context()) }) {
		require.NoError(t, err)
	}
}

func TestDeathCompletesAFenceAndAnExchange(t *testing.T) {
	w := newWorld(t, 2)
	books := make(chan *bootstrap.Book, 1)
	go func() {
		b, err := w.sessions[0].Exchange(t.Context(), w.sessions[0].Card())
		if err == nil {
			books <- b
		}
		close(books)
	}()
	w.next(t, bootstrap.EventJoined)
	w.server.Gone(1, "exited with code 3")
	b := <-books
	require.NotNil(t, b)
	_, ok := b.Card(1)
	require.False(t, ok)
	require.NoError(t, w.sessions[0].Fence(t.Context()))
}

func TestFinalizedRankIsNotDown(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	require.NoError(t, w.sessions[1].Finalize())
	require.NoError(t, <-w.served[1])
	w.server.Gone(1, "exited with code 0")
	require.NoError(t, w.sessions[0].Fence(t.Context()))
	w.server.Dump(1)
	require.Equal(t, bootstrap.Dump, (<-w.sessions[0].Notices()).Kind)
	require.Error(t, w.sessions[1].Fence(t.Context()), "a finalized rank has no fences")
}

func TestAbortAndReport(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	require.Len(t, w.server.Dump(1), 2)
	require.NoError(t, w.sessions[1].Report(9, strings.Repeat("x", 100<<10)))
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventReport, Rank: 1, Code: 9, Text: strings.Repeat("x", 64<<10)}, w.next(t, bootstrap.EventReport))
	require.NoError(t, w.sessions[0].Handled(1))
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventHandled, Code: 1}, w.next(t, bootstrap.EventHandled))
	w.sessions[0].Abort(-3, "no more work")
	require.Equal(t, bootstrap.Event{Kind: bootstrap.EventAborted, Code: -3, Text: "no more work"}, w.next(t, bootstrap.EventAborted))
}

func TestAgentLost(t *testing.T) {
	w := newWorld(t, 2)
	w.exchange(t, w.all())
	fenced := make(chan error, 1)
	go func() { fenced <- w.sessions[0].Fence(t.Context()) }()
	require.NoError(t, w.agent[0].Close())
	require.ErrorIs(t, <-fenced, bootstrap.ErrAgentLost)
	n, ok := <-w.sessions[0].Notices()
	require.True(t, ok)
	require.Equal(t, bootstrap.AgentLost, n.Kind)
	_, ok = <-w.sessions[0].Notices()
	require.False(t, ok)
	require.ErrorIs(t, w.sessions[0].Report(1, "x"), bootstrap.ErrAgentLost)
}

func TestNoticesNeverBlockTheSession(t *testing.T) {
	w := newWorld(t, 5)
	w.exchange(t, w.all())
	for range 20 {
		w.server.Dump(1)
	}
	for rank := 1; rank < 5; rank++ {
		w.server.Gone(rank, "exited")
	}
	require.NoError(t, w.sessions[0].Fence(t.Context())) // the fence is answered after all these notices
	down := 0
	for range len(w.sessions[0].Notices()) {
		if n := <-w.sessions[0].Notices(); n.Kind == bootstrap.PeerDown {
			down++
		}
	}
	require.Equal(t, 4, down)
}

func TestWorldOfOneWithoutAgent(t *testing.T) {
	s := bootstrap.Attach(bootstrap.Job{Size: 1, LocalSize: 1, Nodes: 1}, nil, nil, [32]byte{})
	b, err := s.Exchange(t.Context(), s.Card())
	require.NoError(t, err)
	require.Equal(t, 1, b.Size())
	require.NoError(t, s.Fence(t.Context()))
	require.NoError(t, s.Report(1, "there is no agent"))
	s.Abort(1, "there is no agent")
	require.Error(t, s.Fail(0, -1, "there is no agent"))
	require.NoError(t, s.Finalize())
}

// recorded is a connection whose input is complete, and whose output is discarded.
type recorded struct{ io.Reader }

func (recorded) Write(p []byte) (int, error) { return len(p), nil }

func frame(k uint8, body []byte) []byte { return bootstrap.AppendFrame(nil, k, body) }

func TestServerRefusesMalformedFrames(t *testing.T) {
	card := frame(bootstrap.KindCard, encoded(t, plainCard(0)))
	for name, in := range map[string][]byte{
		"no kind":               {0, 0, 0, 0, 0},
		"too long":              {255, 255, 255, 255, 1},
		"kind of the agent":     frame(bootstrap.KindBook, nil),
		"unknown kind":          frame(99, nil),
		"card of another":       frame(bootstrap.KindCard, encoded(t, plainCard(1))),
		"card and more":         frame(bootstrap.KindCard, append(encoded(t, plainCard(0)), 0)),
		"second card":           append(card, card...),
		"short abort":           frame(bootstrap.KindAbort, []byte{1, 2, 3}),
		"short handled":         frame(bootstrap.KindHandled, []byte{1, 0, 0}),
		"handled of no rank":    frame(bootstrap.KindHandled, []byte{2, 0, 0, 0}),
		"handled below rank 0":  frame(bootstrap.KindHandled, []byte{255, 255, 255, 255}),
		"handled and more":      frame(bootstrap.KindHandled, []byte{1, 0, 0, 0, 'x'}),
		"long fence":            frame(bootstrap.KindFence, []byte{1}),
		"long finalize":         frame(bootstrap.KindFinalize, []byte{1}),
		"fence after finalize":  append(frame(bootstrap.KindFinalize, nil), frame(bootstrap.KindFence, nil)...),
		"finalize after itself": append(frame(bootstrap.KindFinalize, nil), frame(bootstrap.KindFinalize, nil)...),
	} {
		s := bootstrap.NewServer(2, func(bootstrap.Event) {})
		require.ErrorIs(t, s.Serve(0, recorded{bytes.NewReader(in)}), bootstrap.ErrMalformed, name)
	}
	for n := range card {
		s := bootstrap.NewServer(2, func(bootstrap.Event) {})
		err := s.Serve(0, recorded{bytes.NewReader(card[:n])})
		if n == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
		}
	}
}

func TestSessionRefusesMalformedFrames(t *testing.T) {
	book := bootstrap.AppendBook(nil, [][]byte{encoded(t, plainCard(0)), nil})
	down := []byte{1, 0, 0, 0, 'x'}
	for name, in := range map[string][]byte{
		"kind of a rank":   frame(bootstrap.KindCard, nil),
		"unknown kind":     frame(77, nil),
		"book too small":   frame(bootstrap.KindBook, bootstrap.AppendBook(nil, [][]byte{nil})),
		"second book":      append(frame(bootstrap.KindBook, book), frame(bootstrap.KindBook, book)...),
		"short fence":      frame(bootstrap.KindFenceDone, []byte{1}),
		"no such rank":     frame(bootstrap.KindPeerDown, []byte{2, 0, 0, 0}),
		"negative rank":    frame(bootstrap.KindPeerDown, []byte{255, 255, 255, 255}),
		"down twice":       append(frame(bootstrap.KindPeerDown, down), frame(bootstrap.KindPeerDown, down)...),
		"short down":       frame(bootstrap.KindPeerDown, []byte{1}),
		"far too long":     {255, 255, 255, 255, 16},
		"ends in the body": frame(bootstrap.KindBook, book)[:20],
	} {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 2, LocalSize: 2, Nodes: 1}, theirs, nil, [32]byte{})
		go func() {
			_, _ = mine.Write(in) // the session may close the connection before it has read all bytes
			_ = mine.Close()
		}()
		var last bootstrap.Notice
		for n := range s.Notices() {
			last = n
		}
		require.Equal(t, bootstrap.AgentLost, last.Kind, name)
		_, err := s.Exchange(t.Context(), s.Card())
		require.ErrorIs(t, err, bootstrap.ErrAgentLost, name)
		if name != "ends in the body" {
			require.Contains(t, last.Cause, bootstrap.ErrMalformed.Error(), name)
		}
		_ = s.Finalize()
	}
}

func FuzzServer(f *testing.F) {
	f.Add(frame(bootstrap.KindCard, encoded(f, richCard(0))))
	f.Add(append(frame(bootstrap.KindFence, nil), frame(bootstrap.KindAbort, []byte{1, 0, 0, 0, 'x'})...))
	f.Add(append(frame(bootstrap.KindReport, []byte{0, 0, 0, 0, 'x'}), frame(bootstrap.KindFinalize, nil)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := bootstrap.NewServer(1, func(bootstrap.Event) {})
		err := s.Serve(0, recorded{bytes.NewReader(in)})
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			require.ErrorIs(t, err, bootstrap.ErrMalformed)
		}
		s.Dump(1)
		s.Gone(0, "exited")
		require.Equal(t, bootstrap.RankGone, s.State(0))
	})
}

func FuzzSession(f *testing.F) {
	f.Add(frame(bootstrap.KindBook, bootstrap.AppendBook(nil, [][]byte{encoded(f, plainCard(0)), encoded(f, richCard(1))})))
	f.Add(append(frame(bootstrap.KindFenceDone, []byte{1, 0, 0, 0}), frame(bootstrap.KindPeerDown, []byte{1, 0, 0, 0, 'x'})...))
	f.Add(append(frame(bootstrap.KindDump, []byte{1, 0, 0, 0}), frame(bootstrap.KindDump, nil)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 2, LocalSize: 2, Nodes: 1}, theirs, nil, [32]byte{})
		_, _ = mine.Write(in)
		require.NoError(t, mine.Close())
		var last bootstrap.Notice
		for n := range s.Notices() {
			last = n
		}
		require.Equal(t, bootstrap.AgentLost, last.Kind)
		_ = s.Finalize()
	})
}

package bootstrap_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// cancelled is a context that has ended.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// start calls f for a rank and returns its end.
func (w *world) start(rank int, f func(s *bootstrap.Session) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f(w.sessions[rank]) }()
	return done
}

func fence(t *testing.T) func(s *bootstrap.Session) error {
	t.Helper()
	return func(s *bootstrap.Session) error { return s.Fence(t.Context()) }
}

func TestFenceIsCompleteWithTheLastRankOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		w.exchange(t, w.all())
		first, second := w.start(0, fence(t)), w.start(1, fence(t))
		synctest.Wait()
		require.Empty(t, first)
		require.Empty(t, second)
		require.NoError(t, w.sessions[2].Fence(t.Context()))
		require.NoError(t, <-first)
		require.NoError(t, <-second)
	})
}

func TestFenceAfterACancelledOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.exchange(t, w.all())
		require.ErrorIs(t, w.sessions[0].Fence(cancelled(t)), context.Canceled)
		require.NoError(t, w.sessions[1].Fence(t.Context()))
		synctest.Wait() // the answer to the cancelled one is there
		next := w.start(0, fence(t))
		synctest.Wait()
		require.Empty(t, next, "the other rank has called one only")
		require.NoError(t, w.sessions[1].Fence(t.Context()))
		require.NoError(t, <-next)
	})
}

func TestAnswersToCancelledFencesHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.exchange(t, w.all())
		for range 20 { // a fence may see the answer to the one before, or not
			require.ErrorIs(t, w.sessions[0].Fence(cancelled(t)), context.Canceled)
			require.NoError(t, w.sessions[1].Fence(t.Context()))
			synctest.Wait()
		}
		w.server.Dump(1)
		synctest.Wait()
		require.Len(t, w.sessions[0].Notices(), 1)
	})
}

func TestRankThatLeavesIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		require.NoError(t, w.sessions[2].Finalize()) // without a card
		book := w.start(0, func(s *bootstrap.Session) error {
			b, err := s.Exchange(t.Context(), s.Card())
			if err == nil {
				_, there := b.Card(2)
				require.False(t, there)
			}
			return err
		})
		synctest.Wait()
		require.Empty(t, book, "rank 1 has no card yet")
		w.exchange(t, []int{1})
		require.NoError(t, <-book)
		require.NoError(t, w.sessions[1].Finalize()) // without a fence
		require.NoError(t, w.sessions[0].Fence(t.Context()))
		synctest.Wait()
		require.Empty(t, w.sessions[0].Notices(), "no rank is down")
		for range w.sessions[1].Notices() {
			t.Fatal("a rank that leaves has not lost its agent")
		}
	})
}

func TestRankThatHasNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		book := w.start(0, func(s *bootstrap.Session) error {
			_, err := s.Exchange(t.Context(), s.Card())
			return err
		})
		synctest.Wait()
		require.Equal(t, 1, w.server.Dump(1))
		synctest.Wait()
		require.Empty(t, w.sessions[1].Notices(), "it is not asked what it does")
		w.server.Gone(1, "exited with code 3")
		w.server.Gone(2, "exited with code 4")
		require.NoError(t, <-book)
		synctest.Wait()
		require.Equal(t, bootstrap.Dump, (<-w.sessions[0].Notices()).Kind)
		for i, cause := range []string{"exited with code 3", "exited with code 4"} {
			require.Equal(t, bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: i + 1, Cause: cause}, <-w.sessions[0].Notices())
		}
	})
}

func TestWhatWasSaidBeforeTheConnectionIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := bootstrap.NewServer(2, func(bootstrap.Event) {})
		server.Gone(1, "exited with code 3") // before rank 0 is served
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 2, LocalSize: 2, Nodes: 1}, theirs, nil, [32]byte{})
		go func() { _ = server.Serve(0, mine) }()
		synctest.Wait()
		require.Len(t, s.Notices(), 1)
		require.NoError(t, s.Finalize())
		require.NoError(t, mine.Close())
	})
}

func TestExchangeEndsWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 2, LocalSize: 2, Nodes: 1}, theirs, nil, [32]byte{})
		done := make(chan error, 1)
		go func() {
			_, err := s.Exchange(t.Context(), s.Card())
			done <- err
		}()
		card := frame(bootstrap.KindCard, encoded(t, s.Card()))
		_, err := io.ReadFull(mine, card)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, done)
		require.NoError(t, mine.Close())
		require.ErrorIs(t, <-done, bootstrap.ErrAgentLost)
		_ = s.Finalize()
	})
}

// slow is a connection whose Writes wait for the test.
type slow struct {
	io.Reader
	writing chan []byte
	next    chan struct{}
}

func (c slow) Write(p []byte) (int, error) {
	c.writing <- p
	<-c.next
	return len(p), nil
}

func TestConnectionHasOneWriterAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := bootstrap.NewServer(5, func(bootstrap.Event) {})
		in, out := io.Pipe()
		c := slow{Reader: in, writing: make(chan []byte, 5), next: make(chan struct{})}
		go func() { _ = server.Serve(0, c) }()
		synctest.Wait()
		for rank := 1; rank < 5; rank++ {
			server.Gone(rank, string(rune('0'+rank)))
			synctest.Wait()
			require.Len(t, c.writing, 1)
		}
		for rank := 1; rank < 5; rank++ { // and in order
			require.Equal(t, frame(bootstrap.KindPeerDown, []byte{byte(rank), 0, 0, 0, byte('0' + rank)}), <-c.writing)
			c.next <- struct{}{}
			synctest.Wait()
		}
		require.NoError(t, out.Close())
	})
}

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

// cancelled returns a context that is already canceled.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// start runs f for a rank in a goroutine and returns a channel that receives the result.
func (w *world) start(rank int, f func(s *bootstrap.Session) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f(w.sessions[rank]) }()
	return done
}

func fence(t *testing.T) func(s *bootstrap.Session) error {
	t.Helper()
	return func(s *bootstrap.Session) error { return s.Fence(t.Context()) }
}

// Fence returns at no rank before the last rank has called Fence.
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

// A call of Fence whose context was canceled counts as a call. The late answer to it does not complete the rank's
// next fence.
func TestFenceAfterACancelledOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.exchange(t, w.all())
		require.ErrorIs(t, w.sessions[0].Fence(cancelled(t)), context.Canceled)
		require.NoError(t, w.sessions[1].Fence(t.Context()))
		synctest.Wait() // the answer to the canceled fence has arrived
		next := w.start(0, fence(t))
		synctest.Wait()
		require.Empty(t, next, "the other rank has called Fence only once")
		require.NoError(t, w.sessions[1].Fence(t.Context()))
		require.NoError(t, <-next)
	})
}

// Answers to fences whose context was canceled do not block the session, which still receives
// notices.
func TestAnswersToCancelledFencesHoldUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.exchange(t, w.all())
		for range 20 { // repeated because it is random whether a fence receives the answer to the previous fence
			require.ErrorIs(t, w.sessions[0].Fence(cancelled(t)), context.Canceled)
			require.NoError(t, w.sessions[1].Fence(t.Context()))
			synctest.Wait()
		}
		w.server.Dump(1)
		synctest.Wait()
		require.Len(t, w.sessions[0].Notices(), 1)
	})
}

// Neither an exchange nor a fence waits for a rank that has left the job with Finalize, and that
// rank is not reported as down.
func TestRankThatLeavesIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		require.NoError(t, w.sessions[2].Finalize()) // before rank 2 has handed in a card
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
		require.NoError(t, w.sessions[1].Finalize()) // before rank 1 has called Fence
		require.NoError(t, w.sessions[0].Fence(t.Context()))
		synctest.Wait()
		require.Empty(t, w.sessions[0].Notices(), "no rank is down")
		for range w.sessions[1].Notices() {
			t.Fatal("a rank that leaves has not lost its agent")
		}
	})
}

// A rank that has not handed in its card gets no request for a report. If such ranks end, the exchange
// completes without them, and the other ranks get a notice of each end.
func TestRankThatHasNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		book := w.start(0, func(s *bootstrap.Session) error {
			_, err := s.Exchange(t.Context(), s.Card())
			return err
		})
		synctest.Wait()
		require.Len(t, w.server.Dump(1), 1)
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

// A rank whose connection is served late still receives the notices of earlier ends.
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

// Exchange returns ErrAgentLost if the connection to the agent ends while Exchange waits for the book.
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

// slow is a connection on which each Write blocks until the test lets the Write return.
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

// The server writes to a connection from one goroutine at a time and keeps the order of the frames,
// even if a Write blocks.
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
		for rank := 1; rank < 5; rank++ { // the frames come in the order of the calls
			require.Equal(t, frame(bootstrap.KindPeerDown, []byte{byte(rank), 0, 0, 0, byte('0' + rank)}), <-c.writing)
			c.next <- struct{}{}
			synctest.Wait()
		}
		require.NoError(t, out.Close())
	})
}

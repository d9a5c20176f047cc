package link_test

import (
	"bufio"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// pair makes the two ends of a link over pipes without buffers.
func pair(t *testing.T) (a, b *link.Conn, cut func()) {
	t.Helper()
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	cut = func() {
		for _, c := range []io.Closer{ar, bw, br, aw} {
			require.NoError(t, c.Close())
		}
	}
	return link.NewConn(bufio.NewReader(ar), aw), link.NewConn(bufio.NewReader(br), bw), cut
}

// Frames arrive in the order in which they were sent, and Send does not block. After the end of the
// connection, Flush returns an error, and Room and Send do not block.
func TestConnKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		for i := range 100 {
			a.Send(link.KindDown, []byte{byte(i)}, []byte("x")) // nothing is read yet
			a.Send(link.KindBeat)
		}
		for i := range 100 {
			k, body, err := b.Receive()
			require.NoError(t, err)
			require.Equal(t, link.KindDown, k)
			require.Equal(t, []byte{byte(i), 'x'}, body)
		}
		require.NoError(t, a.Flush())
		cut()
		_, _, err := b.Receive()
		require.Error(t, err)
		a.Send(link.KindDown)
		require.ErrorIs(t, a.Flush(), io.ErrClosedPipe)
		a.Room()
		a.Send(link.KindDown)
	})
}

// Room blocks as long as too many bytes are queued, and returns after the peer has read.
func TestRoomWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		a.Send(link.KindOutput, make([]byte, 10)) // the writer takes it and blocks
		synctest.Wait()
		a.Send(link.KindOutput, make([]byte, 2<<20)) // queued
		room := make(chan struct{})
		go func() { a.Room(); close(room) }()
		synctest.Wait()
		select {
		case <-room:
			t.Fatal("room before anything was read")
		default:
		}
		_, _, err := b.Receive()
		require.NoError(t, err)
		<-room
		_, _, err = b.Receive()
		require.NoError(t, err)
		cut()
	})
}

// Flush blocks until everything that was sent is written.
func TestFlushWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		a.Send(link.KindOutput, []byte("x")) // the writer takes it and blocks
		flushed := make(chan error, 1)
		go func() { flushed <- a.Flush() }()
		synctest.Wait()
		require.Empty(t, flushed, "it was not read")
		_, _, err := b.Receive()
		require.NoError(t, err)
		require.NoError(t, <-flushed)
		cut()
	})
}

// An error of writing ends Room and Flush.
func TestErrorOfWritingEndsAllWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, cut := pair(t)
		a.Send(link.KindOutput, make([]byte, 10)) // the writer takes it and blocks
		synctest.Wait()
		a.Send(link.KindOutput, make([]byte, 2<<20)) // queued
		room := make(chan struct{})
		go func() { a.Room(); close(room) }()
		synctest.Wait()
		cut()
		<-room
		require.ErrorIs(t, a.Flush(), io.ErrClosedPipe)
	})
}

// brokenPipe fails each Write.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// After an error of writing, Send discards frames instead of queueing them.
func TestNothingIsKeptForAPeerThatIsGone(t *testing.T) {
	c := link.NewConn(nil, brokenPipe{})
	c.Send(link.KindDown)
	require.ErrorIs(t, c.Flush(), io.ErrClosedPipe)
	body := make([]byte, 1<<20)
	require.Less(t, allocated(func() {
		for range 10 {
			c.Send(link.KindDown, body)
		}
	}), uint64(1<<20))
}

// Watch reports a lost peer if and only if no frame arrives for link.Silence while a goroutine is in Receive.
func TestSilenceIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, cut := pair(t)
		lost := make(chan struct{})
		stop := a.Watch(link.Silence, func() { close(lost) })
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case <-lost:
			t.Fatal("no goroutine was in Receive, so there was no silence")
		default:
		}
		began := time.Now()
		go hear(a)
		<-lost
		require.Equal(t, link.Silence, time.Since(began))
		stop()
		cut()
	})
}

// hear receives frames until an error.
func hear(c *link.Conn) {
	for {
		if _, _, err := c.Receive(); err != nil {
			return
		}
	}
}

// A peer that sends beats, or has announced a pause, is not lost. After the pause, the time of silence begins
// again.
func TestBeatsAndPausesAreNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		go hear(a)
		go hear(b)
		fail := func() { panic(errors.New("lost")) }
		stopA, stopB := a.Watch(4*time.Second, fail), b.Watch(4*time.Second, fail)
		time.Sleep(time.Minute)
		a.Pause() // without regard to the times of the beats
		a.Send(link.KindInput, []byte("x"))
		time.Sleep(time.Hour)
		a.Resume()
		time.Sleep(time.Minute)
		a.Pause()
		stopA()
		time.Sleep(time.Hour)
		lost := make(chan struct{})
		stopB()
		stopB = b.Watch(6*time.Second, func() { close(lost) })
		a.Resume() // a's Watch has ended, so that a sends no beats after this
		<-lost
		stopB()
		cut()
	})
}

// Pass writes the frames of another link in their order. After them, it writes the end of that link.
func TestConnPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		c := link.NewConn(nil, writerFunc(func(p []byte) (int, error) {
			got = append(got, string(p))
			return len(p), nil
		}))
		c.Pass([]byte("one"))
		synctest.Wait()
		c.Pass([]byte("two"))
		c.Pass(nil)
		require.NoError(t, c.Flush())
		require.Equal(t, []string{"one", "two", ""}, got)
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The next frame after a call of Heard, even a beat, closes the channel that Heard returns. All calls before
// that frame return the same channel.
func TestHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, cut := pair(t)
		before := a.Heard()
		require.Equal(t, before, a.Heard(), "one channel for all")
		go hear(a)
		b.Send(link.KindBeat)
		<-before
		after := a.Heard()
		synctest.Wait()
		select {
		case <-after:
			t.Fatal("nothing has come since")
		default:
		}
		b.Send(link.KindDown)
		<-after
		cut()
	})
}

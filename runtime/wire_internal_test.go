package runtime

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bytes that are written at either end of a wire arrive in order, even if the writer then closes its
// end. Nothing arrives at an end that is closed.
func TestWire(t *testing.T) {
	var held []func()
	hold := func(arrive func()) { held = append(held, arrive) }
	release := func() {
		for _, arrive := range held {
			arrive()
		}
		held = nil
	}
	rank, launcher := newWires(hold, hold)
	for _, text := range []string{"a", "bc"} {
		n, err := io.WriteString(rank, text)
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	require.NoError(t, rank.Close())
	require.NoError(t, rank.Close())
	_, err := rank.Write([]byte("d"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = rank.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.ErrClosedPipe)

	release()
	got, err := io.ReadAll(launcher)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))

	_, err = launcher.Write([]byte("e"))
	require.NoError(t, err)
	release()
	_, err = rank.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// Read waits until something is written, or until the other end is closed.
func TestWireWakesItsReader(t *testing.T) {
	direct := func(arrive func()) { arrive() }
	rank, launcher := newWires(direct, direct)
	read := make(chan string)
	go func() {
		b := make([]byte, 8)
		for {
			n, err := rank.Read(b)
			if err != nil {
				read <- err.Error()
				return
			}
			read <- string(b[:n])
		}
	}()
	_, err := launcher.Write([]byte("x"))
	require.NoError(t, err)
	require.Equal(t, "x", <-read)
	require.NoError(t, launcher.Close())
	require.Equal(t, io.EOF.Error(), <-read)
	require.NoError(t, rank.Close())
}

package rdmacm

import (
	"encoding/binary"
	"io"
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFile checks the bytes of the commands that are written to the descriptor, including the address of the
// answer. It also checks that interrupted system calls are repeated.
func TestFile(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(pair[1])) }()
	interruptions := 3
	f := &file{fd: pair[0], write: func(fd int, p []byte) (int, error) {
		if interruptions > 0 {
			interruptions--
			return 0, unix.EINTR
		}
		return unix.Write(fd, p)
	}}
	require.Equal(t, pair[0], f.Descriptor())
	heard := func() []byte {
		b := make([]byte, 512)
		n, err := unix.Read(pair[1], b)
		require.NoError(t, err)
		return b[:n]
	}

	answer := make([]byte, 4)
	body := make([]byte, 24)
	body[0] = 0xaa
	require.NoError(t, f.Do(&Command{Number: 0, Body: body, Memory: answer, Pointer: 8}))
	require.Zero(t, interruptions)
	b := heard()
	require.Len(t, b, 32)
	require.EqualValues(t, uintptr(unsafe.Pointer(&answer[0])), binary.NativeEndian.Uint64(b[8+8:]))
	require.Equal(t, []byte{0, 0, 0, 0, 24, 0, 4, 0, 0xaa}, b[:9])

	require.NoError(t, f.Do(&Command{Number: 10, Body: []byte{9, 0, 0, 0}}))
	require.Equal(t, []byte{10, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0}, heard())

	require.False(t, f.Ready())
	_, err = unix.Write(pair[1], []byte{1})
	require.NoError(t, err)
	require.True(t, f.Ready())
	require.Zero(t, testing.AllocsPerRun(100, func() { f.Ready() }))
	_, err = unix.Read(pair[0], make([]byte, 1))
	require.NoError(t, err)

	f.write = func(int, []byte) (int, error) { return 3, nil }
	require.ErrorIs(t, f.Do(&Command{Number: 10, Body: make([]byte, 4)}), io.ErrShortWrite)
	f.write = unix.Write
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), os.ErrClosed)
	require.True(t, f.Ready()) // the caller then reads the event, and gets the error
	require.ErrorIs(t, f.Do(&Command{Number: 10, Body: make([]byte, 4)}), os.ErrClosed)
	_, err = unix.Read(pair[1], make([]byte, 1))
	require.NoError(t, err) // the other end has been closed
}

// TestFileIsClosedLast closes the file during a command. The test checks that the descriptor stays open until
// the command has ended, so that no other file gets its number.
func TestFileIsClosedLast(t *testing.T) {
	fds := make([]int, 2)
	require.NoError(t, unix.Pipe2(fds, unix.O_CLOEXEC))
	defer func() { require.NoError(t, unix.Close(fds[0])) }()
	open := func() bool {
		_, err := unix.FcntlInt(uintptr(fds[1]), unix.F_GETFD, 0)
		return err == nil
	}
	var f *file
	f = &file{fd: fds[1], write: func(_ int, p []byte) (int, error) {
		require.NoError(t, f.Close())
		require.True(t, open())
		return len(p), nil
	}}
	require.NoError(t, f.Do(&Command{Number: 10, Body: make([]byte, 4)}))
	require.False(t, open())
}

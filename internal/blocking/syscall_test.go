package blocking_test

import (
	goruntime "runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// TestOthersRunMeanwhile checks that other goroutines run on the only processor while a goroutine sleeps in
// the kernel, and that they can wake it. A garbage collection during the sleep must be able to scan the stack
// of the sleeping goroutine.
func TestOthersRunMeanwhile(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	const rounds = 50
	ping, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	pong, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(ping)); require.NoError(t, unix.Close(pong)) }()
	var other sync.WaitGroup
	other.Go(func() {
		for range rounds {
			await(t, ping)
			ring(t, pong)
		}
	})
	for i := range rounds {
		ring(t, ping)
		if i%10 == 0 {
			goruntime.GC()
		}
		await(t, pong)
	}
	other.Wait()
}

// TestResults checks that results and errors of the system call are returned.
func TestResults(t *testing.T) {
	r1, _, errno := blocking.Syscall6(unix.SYS_GETPPID, 0, 0, 0, 0, 0, 0)
	require.Zero(t, errno)
	require.EqualValues(t, unix.Getppid(), r1)
	_, _, errno = blocking.Syscall6(unix.SYS_CLOSE, ^uintptr(0), 0, 0, 0, 0, 0)
	require.Equal(t, syscall.EBADF, errno)
}

// ring makes an eventfd readable.
func ring(t *testing.T, fd int) {
	t.Helper()
	_, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	if err != nil {
		t.Error(err)
	}
}

// await sleeps until an eventfd is readable, and reads it.
func await(t *testing.T, fd int) {
	t.Helper()
	n, errno := readBlocking(fd, make([]byte, 8))
	if n != 8 || errno != 0 {
		t.Error(n, errno)
	}
}

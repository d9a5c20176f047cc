package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["clogged"] = func() {
		read, filled := clog()
		runtime.Main(func(w *runtime.World) error { return reportIntoAFullPipe(w, read, filled) })
	}
}

// clog replaces standard error with a full pipe. It returns the read end, and the number of bytes
// in the pipe.
func clog() (read *os.File, filled int) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		panic(err)
	}
	for {
		n, err := unix.Write(p[1], make([]byte, 1<<10))
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil {
			panic(err)
		}
		filled += n
	}
	os.Stderr = os.NewFile(uintptr(p[1]), "full")
	return os.NewFile(uintptr(p[0]), "unread"), filled
}

// reportIntoAFullPipe makes rank 0 receive the notice of the loss of rank 1 while rank 0 is blocked
// in writing a report that is not read.
func reportIntoAFullPipe(w *runtime.World, read *os.File, filled int) error {
	c := w.Comm()
	if c.Rank() == 1 {
		if _, err := runtime.Recv(c, make([]byte, 1), 0, 0); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGQUIT); err != nil {
		return err
	}
	stacks := make([]byte, 1<<20)
	for !strings.Contains(string(stacks[:goruntime.Stack(stacks, true)]), "os.(*File).Write") {
		goruntime.Gosched()
	}
	if err := runtime.Send(c, []byte{1}, 1, 0); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, second(runtime.Recv(c, make([]byte, 1), 1, 0)))
	if _, err := io.CopyN(io.Discard, read, int64(filled)); err != nil {
		return err
	}
	report := make([]byte, 100)
	n, err := read.Read(report)
	fmt.Fprintf(os.Stdout, "%s\n", report[:n])
	return err
}

// A rank that is blocked in writing a report still handles notices about other ranks.
func TestReportsIntoAFullPipeBlockNothing(t *testing.T) {
	r := launch(t, 2, "clogged", "-on-failure", "continue", "-timeout", "20s")
	require.Contains(t, r.out, "rank 1 is down: was killed by SIGKILL", r.errors)
	require.Contains(t, r.out, "rank 0 of 2, process ")
	require.Equal(t, 137, r.code, r.errors)
}

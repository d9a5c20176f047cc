package main_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// flood writes lines to the standard output of a process until nobody reads them. It returns a function that waits
// until the pipe is full and out, the standard output of gorun, has almost no room. gorun then waits for the reader
// of out, and finds the pipe full afterwards. The function also returns when nobody reads the pipe.
func flood(t *testing.T, pid string, out *os.File) (awaitFull func()) {
	t.Helper()
	pipe, err := unix.Open("/proc/"+pid+"/fd/1", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() {
		<-ended
		require.NoError(t, unix.Close(pipe))
	})
	go func() {
		defer close(ended)
		line := append(bytes.Repeat([]byte("x"), 4095), '\n')
		for err := error(nil); err == nil; {
			_, err = unix.Write(pipe, line)
		}
	}()
	return func() {
		room := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLOUT}}
		for {
			_, err := unix.Poll(room, 0)
			stored, failed := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ)
			full := room[0].Revents&unix.POLLOUT == 0 && stored >= 48<<10
			if err == nil && (full || failed != nil || room[0].Revents&unix.POLLERR != 0) {
				return
			}
			goruntime.Gosched()
		}
	}
}

// A process that does not belong to the job, and writes to the standard output of a rank without a pause, does not
// prevent gorun from ending, here and on hosts. All output of the rank itself arrives.
func TestEscapedProcessThatWritesForEver(t *testing.T) {
	for name, flags := range map[string][]string{"here": {"-l", "-np", "1"}, "on hosts": {"-host", "a", "-rsh", rsh(t)}} {
		t.Run(name, func(t *testing.T) {
			r := command(t, []string{"GORUN_CONTAIN=scan"}, append(flags, "sh", "-c", "echo $$; read n; while [ $n -gt 0 ]; do echo rank; n=$((n-1)); done")...)
			r.Stdout = nil
			stdout, err := r.StdoutPipe()
			require.NoError(t, err)
			out := bufio.NewReaderSize(stdout, 16) // holds no more than the first line
			in, err := r.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, r.Start())
			pid, err := out.ReadString('\n')
			require.NoError(t, err)
			awaitFull := flood(t, strings.TrimSpace(pid[strings.LastIndexByte(pid, ' ')+1:]), stdout.(*os.File))
			_, err = io.WriteString(in, "500\n")
			require.NoError(t, err)
			timer := time.AfterFunc(limit, func() { _ = r.Process.Kill() })
			var text []byte
			for some := make([]byte, 4<<10); err == nil; { // so little that gorun finds more output after each write
				awaitFull()
				var n int
				n, err = out.Read(some)
				text = append(text, bytes.ReplaceAll(some[:n], []byte("x"), nil)...)
			}
			require.True(t, timer.Stop(), "gorun does not end")
			require.Zero(t, r.wait(t), r.err.String())
			require.Equal(t, 500, bytes.Count(text, []byte("rank\n")))
		})
	}
}

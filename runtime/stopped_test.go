package runtime_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/runtime"
)

// envFifo names the pipe through which the rank that will be stopped sends its process ID.
const envFifo = "GORUN_TEST_FIFO"

func init() {
	programs["stopped"] = func() {
		lines := tee()
		runtime.Main(func(w *runtime.World) error { return waitForStopped(w, lines) })
	}
}

// tee returns the lines that the program prints on standard error from then on. It passes each line on to the
// previous standard error.
func tee() <-chan string {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			_, _ = io.WriteString(stderr, s.Text()+"\n")
			lines <- s.Text()
		}
	}()
	return lines
}

// waitForStopped makes rank 0 send its first message to rank 1, which is stopped. When rank 0 has
// logged that rank 1 does not answer, rank 0 continues rank 1 by SIGCONT.
func waitForStopped(w *runtime.World, lines <-chan string) error {
	c, word := w.Comm(), []int{42}
	if c.Rank() == 1 {
		pid := os.Getpid()
		if err := os.WriteFile(os.Getenv(envFifo), strconv.AppendInt(nil, int64(pid), 10), 0); err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		word[0] = 0
		_, err := runtime.Recv(c, word, 0, 7)
		fmt.Fprintf(os.Stdout, "got %d\n", word[0])
		return err
	}
	text, err := os.ReadFile(os.Getenv(envFifo))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	for state := ""; state != "T"; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		state = strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))[1]
		goruntime.Gosched()
	}
	hear := func(what string) {
		for !strings.Contains(<-lines, what) {
			continue
		}
	}
	answered := make(chan struct{})
	go func() {
		hear("has not answered")
		fmt.Fprintln(os.Stdout, w.Explain(1))
		_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
		hear("no answer for")
		_ = syscall.Kill(pid, syscall.SIGCONT)
		hear("rank 1 answers")
		close(answered)
	}()
	if err := runtime.Send(c, word, 1, 7); err != nil {
		return err
	}
	<-answered
	return nil
}

// TestStoppedRankIsWaitedFor: a rank that is stopped, for example by a debugger, before its first
// connection is not lost. A rank that waits for the stopped rank reports that the stopped rank does
// not answer.
func TestStoppedRankIsWaitedFor(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pid")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	r := launch(t, 2, "stopped", "-transport", "rdma", "-x", envFifo+"="+fifo, "-x", "GORUN_NET_GIVEUP=500ms")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.out, "got 42\n")
	require.Regexp(t, `rank 1: rdma by iwarp .*, not connected so far, no answer for \S+, but its host accepts connections`, r.out)
	require.Regexp(t, `(?m)^rank 0: rdma: rank 1 has not answered for \S+, but its host accepts connections: this rank waits for it \(.*TIMED_OUT`, r.errors)
	require.Regexp(t, `(?m)^  send, rank 1, .*\n  rank 1: no answer for \S+, but its host accepts connections$`, r.errors)
	require.Regexp(t, `(?m)^  rank 1: not connected: 127\.0\.0\.1:\d+ \(\d+ attempts?\): the host accepted the request and the peer did not answer in time$`, r.errors)
	require.Contains(t, r.errors, "rank 0: rdma: rank 1 answers\n")
}

// TestSettingsOfTheNetworkAreChecked: a wrong value of a variable that configures the network is an error of Init, even
// if there is no network, because all ranks are on one node.
func TestSettingsOfTheNetworkAreChecked(t *testing.T) {
	for name, want := range map[string]string{
		"GORUN_NET_TIMEOUT": "is not a duration such as 50us", "GORUN_NET_IDLE": "is not a duration such as 50us",
		"GORUN_NET_GIVEUP": "is not a duration such as 50us", "GORUN_ENCRYPT": "is none of yes, no and auto",
	} {
		r := launch(t, 2, "greet", "-x", name+"=soon")
		require.NotZero(t, r.code, name)
		require.Contains(t, r.errors, fmt.Sprintf("bad %s: %q %s", name, "soon", want))
	}
}

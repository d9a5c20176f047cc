package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// waitForTheNext prints a line and then makes every rank wait for a message of the next rank.
func waitForTheNext(w *runtime.World) error {
	c := w.Comm()
	fmt.Fprintln(os.Stdout, "joined")
	go sayWhenBlocked("waitForTheNext(", "engine.(*Engine).sleep(")
	if err := runtime.Send(c, []int{1}, (c.Rank()+c.Size()-1)%c.Size(), 8); err != nil { // a tag that no rank receives
		return err
	}
	_, err := runtime.Recv(c, make([]int, 4), (c.Rank()+1)%c.Size(), 7)
	return err
}

// leaveWithoutAWord makes rank 1 end while rank 0 waits for it.
func leaveWithoutAWord(w *runtime.World) error {
	if w.Rank() == 1 {
		go sayWhenBlocked("runtime.(*World).Close(", "bootstrap.(*Session).Fence(")
		return nil
	}
	go sayWhenBlocked("leaveWithoutAWord(", "engine.(*Engine).sleep(")
	return second(runtime.Recv(w.Comm(), make([]int, 1), 1, 0))
}

// sayWhenBlocked prints "blocked" when the stack of a goroutine contains both caller and function.
func sayWhenBlocked(caller, function string) {
	buf := make([]byte, 1<<20)
	for {
		for _, stack := range strings.Split(string(buf[:goruntime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, caller) && strings.Contains(stack, function) {
				fmt.Fprintln(os.Stdout, "blocked")
				return
			}
		}
		goruntime.Gosched()
	}
}

// dumpOf starts a program, and sends SIGQUIT to gorun when all ranks are blocked. It returns what
// gorun prints on standard error, and ends gorun after a line that contains the text last.
func dumpOf(t *testing.T, ranks int, program, last string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, testbed.Gorun(t), "-np", strconv.Itoa(ranks), "-on-deadlock", "ignore", "-x", envProgram+"="+program, self)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for blocked := 0; blocked < ranks; {
		require.True(t, lines.Scan())
		if lines.Text() == "blocked" {
			blocked++
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT))
	return readUntil(t, cmd, pipe, last)
}

// readUntil reads what gorun prints on standard error, ends gorun after a line that contains the
// text last, and returns all that was printed.
func readUntil(t *testing.T, cmd *exec.Cmd, errors io.Reader, last string) string {
	t.Helper()
	var text strings.Builder
	lines := bufio.NewScanner(errors)
	for !strings.Contains(lines.Text(), last) {
		require.True(t, lines.Scan(), text.String())
		text.WriteString(lines.Text() + "\n")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, 128+int(syscall.SIGTERM), cmd.ProcessState.ExitCode(), text.String())
	return text.String()
}

// SIGQUIT to gorun prints what each rank waits for, and the messages that have arrived and were not
// received because of their tags.
func TestDumpNamesWhatEachRankWaitsFor(t *testing.T) {
	const ranks = 3
	dump := dumpOf(t, ranks, "wait", "rank 2: not received")
	want := `(?m)^gorun: ranks 0-2 of 3: each waits in 1 operation\ngorun: {3}receive, .*, at program_report_test\.go:\d+ \(runtime_test\.waitForTheNext\)\n`
	for rank := range ranks {
		want += fmt.Sprintf(`gorun: {5}rank %d: rank %d, tag 7, world, 32 bytes\n`, rank, (rank+1)%ranks)
	}
	for rank := range ranks {
		want += fmt.Sprintf(`gorun: {3}rank %d: not received: 8 bytes from rank %d, tag 8, world\n`, rank, (rank+1)%ranks)
	}
	require.Regexp(t, want, dump)
}

// The report file of a job that was ended by its timeout contains what its ranks were doing.
func TestReportHasWhatRanksWaitedFor(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.json")
	r := launch(t, 2, "leave", "-on-deadlock", "ignore", "-timeout", "5s", "-report", name) // long, so that rank 1 has finished
	require.Equal(t, 124, r.code, r.errors)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var report struct {
		Ranks []struct{ Doing bootstrap.Doing }
	}
	require.NoError(t, json.Unmarshal(text, &report))
	require.Len(t, report.Ranks, 2)
	waits := report.Ranks[0].Doing.Waits
	require.Len(t, waits, 1)
	require.Equal(t, "receive", waits[0].Op)
	require.Equal(t, 1, waits[0].Peer)
	require.Contains(t, waits[0].Line, "program_report_test.go:")
	require.True(t, report.Ranks[1].Doing.Finished)
}

// The report says that a rank has finished, because others may wait for it forever.
func TestDumpNamesARankThatHasFinished(t *testing.T) {
	dump := dumpOf(t, 2, "leave", "has left its program")
	require.Regexp(t, `(?m)^gorun: rank 0 of 2, process \d+: waits in 1 operation\ngorun: {3}receive, rank 1, tag 0, world, 8 bytes`, dump)
	require.Regexp(t, `(?m)^gorun: rank 1 of 2, process \d+: has finished, and waits for the others to do so$`, dump)
	require.Contains(t, dump, "gorun: rank 1 has left its program, and rank 0 waits for it\n")
}

// SIGQUIT to a rank prints what the rank waits for, and does not end the rank. If a second SIGQUIT
// follows quickly, it has the effect that it has in any Go program: the process prints its stacks
// and ends.
func TestQuitSignal(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), envProgram+"=wait")
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(pipe)
	// The program prints a first line when it has joined and handles signals. It prints a second
	// line when it is blocked.
	said := bufio.NewScanner(out)
	require.True(t, said.Scan())
	require.True(t, said.Scan())
	require.Equal(t, "blocked", said.Text())
	require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT))
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "waits in 1 operation")
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "receive, rank 0, tag 7, world, 32 bytes")
	for range 2 {
		require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT))
	}
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	require.Error(t, cmd.Wait())
	require.Contains(t, rest.String(), "SIGQUIT: quit")
	require.Contains(t, rest.String(), "waitForTheNext")
}

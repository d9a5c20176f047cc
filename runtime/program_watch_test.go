package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

// rallyUntilTold exchanges messages of two ranks until the end of stdin, a few thousand a second.
func rallyUntilTold(w *runtime.World) error {
	c := w.Comm()
	told := make(chan struct{})
	if c.Rank() == 0 {
		fmt.Fprintln(os.Stdout, os.Getenv(bootstrap.EnvJob))
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(told)
		}()
	}
	for more := []byte{1}; more[0] != 0; {
		var err error
		if c.Rank() == 0 {
			select {
			case <-told:
				more[0] = 0
			case <-time.After(100 * time.Microsecond): // others need the processors as well
			}
			err = runtime.Send(c, more, 1, 1)
		} else {
			_, err = runtime.Recv(c, more, 0, 1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deadline ends commands that hang.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// rally starts a job of rallyUntilTold. end ends it.
func rally(t *testing.T, flags ...string) (job string, end func()) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(deadline(t), testbed.Gorun(t), append(flags, "-np", "2", "-x", envProgram+"=rally", self)...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	job, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(job), func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}

// gorun inspect -watch writes a table once a second, whose second one has rates, until the job ends.
func TestWatch(t *testing.T) {
	for name, flags := range map[string]func() []string{
		"here":  func() []string { return nil },
		"hosts": func() []string { return []string{"-host", "h0,h1", "-rsh", nscluster.Start(t, 2).Rsh()} },
	} {
		t.Run(name, func(t *testing.T) { watchRally(t, flags()...) })
	}
}

func watchRally(t *testing.T, flags ...string) {
	t.Helper()
	job, end := rally(t, flags...)
	cmd := exec.CommandContext(deadline(t), testbed.Gorun(t), "inspect", "-watch", job)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	blocks := []string{""}
	lines := bufio.NewScanner(stdout)
	for len(blocks) < 3 && lines.Scan() {
		if lines.Text() == "" {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += lines.Text() + "\n"
	}
	require.Len(t, blocks, 3, blocks)
	for rank := range 2 {
		require.Regexp(t, fmt.Sprintf(`(?m)^ +%d  \w+ +- +- +- +\d+( |$)`, rank), blocks[0])
		require.Regexp(t, fmt.Sprintf(`(?m)^ +%d  \w+ +[1-9]\S* +[1-9]\S* +\d+ +\d+( |$)`, rank), blocks[1])
	}
	end()
	for lines.Scan() {
	}
	require.NoError(t, cmd.Wait(), "the job has ended")
	require.NotContains(t, strings.Join(blocks, ""), "\x1b")
}

// terminal returns the two ends of a terminal of 24 lines of 80 columns: of the emulator, and of programs.
func terminal(t *testing.T) (emulator, programs *os.File) {
	t.Helper()
	emulator, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudoterminals: ", err)
	}
	t.Cleanup(func() { _ = emulator.Close() })
	fd := int(emulator.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	programs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return emulator, programs
}

// On a terminal the table is on the alternate screen, which is left at Ctrl-C and at the end of the
// job; the last table is written again.
func TestWatchOnATerminal(t *testing.T) {
	job, end := rally(t)
	for _, interrupted := range []bool{true, false} {
		emulator, programs := terminal(t)
		cmd := exec.CommandContext(deadline(t), testbed.Gorun(t), "inspect", "-watch", job)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = programs, programs, programs
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Start())
		require.NoError(t, programs.Close())
		var shown []byte
		buffer := make([]byte, 4096)
		for ended := false; ; {
			n, err := emulator.Read(buffer)
			if shown = append(shown, buffer[:n]...); err != nil {
				break // EIO: nobody has the other end any more
			}
			if !ended && bytes.Count(shown, []byte("\x1b[H")) == 2 {
				if ended = true; interrupted {
					_, err := emulator.WriteString("\x03")
					require.NoError(t, err)
				} else {
					end()
				}
			}
		}
		err := cmd.Wait()
		if interrupted {
			require.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), "%v", err)
		} else {
			require.NoError(t, err)
		}
		require.Regexp(t, `^\x1b\[\?1049h\x1b\[Hjob [^\x1b]*\x1b\[K\r+\n2 ranks, 2 of them joined, 0 ended\x1b\[K\r+\n`, string(shown))
		before, after, left := strings.Cut(string(shown), "\x1b[?1049l")
		require.True(t, left)
		require.Contains(t, before, "unexpected  where\x1b[K\r")
		frame, _, whole := strings.Cut(before[strings.LastIndex(before, "\x1b[H")+len("\x1b[H"):], "\x1b[J")
		require.True(t, whole)
		plain := strings.NewReplacer("\x1b[K", "", "\r", "")
		require.Equal(t, plain.Replace(frame)+"\n", plain.Replace(after), "the last table")
		require.Regexp(t, `(?m)^ +0  \w+ +[1-9]`, before)
	}
}

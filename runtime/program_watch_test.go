package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
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

// rallyUntilTold sends a few thousand messages a second from rank 0 to rank 1 until the end of
// standard input.
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
			case <-time.After(100 * time.Microsecond): // leaves the processors to other processes
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

// deadline returns a context that ends commands that hang.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// rally starts a job of rallyUntilTold and returns its name. The result end is a function that ends the job.
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

// gorun inspect -watch prints a table once a second until the job ends. From the second table on,
// the tables contain rates.
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

// terminal returns the two ends of a pseudoterminal of 24 lines with 80 columns: the end of the
// emulator and the end of programs.
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

// watched is a running gorun inspect -watch on a terminal.
type watched struct {
	t        *testing.T
	cmd      *exec.Cmd
	emulator *os.File
	shown    []byte
	before   *unix.Termios // settings of the terminal before the start
}

// watchOnTerminal starts gorun inspect -watch by a command. If keys is false, the standard input of
// the command is not the terminal.
func watchOnTerminal(t *testing.T, keys bool, command ...string) *watched {
	t.Helper()
	emulator, programs := terminal(t)
	before, err := unix.IoctlGetTermios(int(emulator.Fd()), unix.TCGETS)
	require.NoError(t, err)
	cmd := exec.CommandContext(deadline(t), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=any", "PS1=ready>")
	cmd.Stdout, cmd.Stderr = programs, programs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if keys {
		cmd.Stdin = programs
	}
	require.NoError(t, cmd.Start())
	require.NoError(t, programs.Close())
	return &watched{t: t, cmd: cmd, emulator: emulator, before: before}
}

// sequence matches a control sequence of a terminal.
var sequence = regexp.MustCompile(`\x1b\[[0-9;?<>]*[ -/]*[@-~]`)

// await reads from the terminal until the output since the last call matches the pattern. For the
// comparison, control sequences are replaced by blanks.
func (w *watched) await(pattern string) {
	w.t.Helper()
	wanted := regexp.MustCompile(pattern)
	for from := len(w.shown); ; {
		require.True(w.t, w.read(), "there is no %s in %q", pattern, w.shown[from:])
		if wanted.Match(sequence.ReplaceAll(w.shown[from:], []byte(" "))) {
			return
		}
	}
}

// read reads more of the output of the terminal. It returns false at the end.
func (w *watched) read() bool {
	buffer := make([]byte, 4096)
	n, err := w.emulator.Read(buffer)
	w.shown = append(w.shown, buffer[:n]...)
	return err == nil // EIO: no process has the other end open
}

func (w *watched) press(keys string) {
	w.t.Helper()
	_, err := w.emulator.WriteString(keys)
	require.NoError(w.t, err)
}

// ended waits for the end of gorun inspect. It requires that the last table is printed after the
// alternate screen was left, and that the terminal has its previous settings. It returns the signal
// that ended gorun inspect, or -1.
func (w *watched) ended() syscall.Signal {
	w.t.Helper()
	for w.read() {
	}
	_ = w.cmd.Wait()
	_, last, left := strings.Cut(string(w.shown), "\x1b[?1049l") // leaves the alternate screen
	require.True(w.t, left)
	last, shown := strings.CutPrefix(last, "\x1b[?25h") // shows the cursor
	require.True(w.t, shown)
	require.Regexp(w.t, `^[^\x1b]*\r\njob [^\x1b]*\r\n2 ranks, 2 of them joined, 0 ended\r\n  rank  state [^\x1b]*\r\n +0  \w+ +[1-9][^\x1b]*\r\n +1  \w+ +[1-9][^\x1b]*\r\n$`, last)
	after, err := unix.IoctlGetTermios(int(w.emulator.Fd()), unix.TCGETS)
	require.NoError(w.t, err)
	require.Equal(w.t, w.before, after)
	return w.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal()
}

// On a terminal, gorun inspect -watch uses the alternate screen and obeys keys. At the end of the
// view or of the job it leaves that screen and prints the last table again.
func TestWatchOnATerminal(t *testing.T) {
	job, end := rally(t)
	for _, c := range []struct {
		name   string
		keys   bool
		end    func(w *watched)
		signal syscall.Signal
	}{
		{"keys", true, func(w *watched) {
			w.press("w\x1b[B\r") // sort key, down, enter
			w.await("newest last")
			w.press("\x1b")
			w.await("by waiting")
			w.press("rq")
		}, -1},
		{"interrupt key", true, func(w *watched) { w.press("\x03") }, syscall.SIGINT},
		{"stop key without a shell", true, func(w *watched) { w.press("\x1aq") }, -1},
		{"signal", true, func(w *watched) { require.NoError(w.t, w.cmd.Process.Signal(syscall.SIGTERM)) }, syscall.SIGTERM},
		{"interrupt without keys", false, func(w *watched) { w.press("q\x03") }, syscall.SIGINT},
		{"end of the job", true, func(*watched) { end() }, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watchOnTerminal(t, c.keys, testbed.Gorun(t), "inspect", "-watch", job)
			w.await(`(?s)2 ranks, 2 of them joined, 0 ended.*unexpected.*arrows`)
			require.Contains(t, string(w.shown), "\x1b[?1049h")
			w.await(` [1-9][0-9.]*k? +[0-9.]+k?( |$)`) // rates, from the second table on
			c.end(w)
			require.NotRegexp(t, `\x1b\[[0-9;]*[34][0-7](;[0-9;]*)?m`, string(w.shown), "NO_COLOR is set")
			require.Equal(t, c.signal, w.ended())
		})
	}
}

// On a terminal without control sequences, gorun inspect -watch prints one table after the other.
func TestWatchOnADumbTerminal(t *testing.T) {
	job, end := rally(t)
	w := watchOnTerminal(t, true, "env", "TERM=dumb", testbed.Gorun(t), "inspect", "-watch", job)
	w.await(`(?s)unexpected.*\r\n\r\njob .*unexpected`)
	end()
	for w.read() {
	}
	require.NoError(t, w.cmd.Wait())
	require.NotContains(t, string(w.shown), "\x1b")
}

// Ctrl-Z restores the terminal for the shell, even if a script runs gorun inspect -watch. The table
// is shown again when the shell continues the job.
func TestWatchIsSuspended(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no shell with job control: ", err)
	}
	job, end := rally(t)
	defer end()
	w := watchOnTerminal(t, true, shell, "--norc", "--noprofile", "-i")
	view := testbed.Gorun(t) + " inspect -watch " + job
	for _, line := range []string{view, "bash -c '" + view + "; true'"} {
		w.press(line + "\n")
		w.await(`(?s)2 ranks, 2 of them joined.*arrows`)
		from := len(w.shown)
		w.press("\x1a")
		w.await("Stopped")
		require.Contains(t, string(w.shown[from:]), "\x1b[?1049l")
		w.press("fg\n")
		w.await(`(?s)2 ranks, 2 of them joined.*arrows`)
		w.press("q")
		w.await(`(?s)2 ranks, 2 of them joined.*ready>$`)
	}
	w.press("exit\n")
	for w.read() {
	}
	require.NoError(t, w.cmd.Wait())
}

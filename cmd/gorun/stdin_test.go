package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// readFull reads until the buffer is full or the stream ends.
func readFull(r io.Reader, b []byte) (int, error) { return io.ReadFull(r, b) }

// copyInput runs ranks, each of which writes its input to a file. It returns the contents of the files by
// rank.
func copyInput(t *testing.T, stdin io.Reader, ranks int, flags ...string) [][]byte {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"-np", fmt.Sprint(ranks)}, flags...)
	got := gorun(t, stdin, append(args, "sh", "-c", "cat > "+dir+"/$GORUN_RANK")...)
	require.Zero(t, got.code, got.err)
	out := make([][]byte, ranks)
	for rank := range out {
		var err error
		out[rank], err = os.ReadFile(filepath.Join(dir, fmt.Sprint(rank)))
		require.NoError(t, err)
	}
	return out
}

// Standard input arrives unchanged at the ranks that -stdin selects. The other ranks get an empty input.
func TestStdinIsByteExact(t *testing.T) {
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 1<<20 + 3} {
		data := noise(uint64(size), size)
		for _, source := range []string{"file", "pipe"} {
			open := func() io.Reader {
				if source == "file" {
					return file(t, data)
				}
				return bytes.NewReader(data) // os/exec passes it through a pipe
			}
			got := copyInput(t, open(), 3)
			require.True(t, bytes.Equal(data, got[0]), "%d bytes of a %s to rank 0", size, source)
			require.Empty(t, got[1])
			require.Empty(t, got[2])
			got = copyInput(t, open(), 3, "-stdin", "1")
			require.True(t, bytes.Equal(data, got[1]), "%d bytes of a %s to rank 1", size, source)
			require.Empty(t, got[0])
			require.Empty(t, got[2])
			for rank, b := range copyInput(t, open(), 3, "-stdin", "all") {
				require.True(t, bytes.Equal(data, b), "%d bytes of a %s to rank %d of all", size, source, rank)
			}
			for _, b := range copyInput(t, open(), 2, "-stdin", "none") {
				require.Empty(t, b)
			}
		}
	}
}

// gorun does not read input that no rank reads, so that the input is left for the next command.
func TestUnreadStdinIsLeft(t *testing.T) {
	// The input is also needed later, for example, in: while read line; do gorun ...; done < file.
	f := file(t, []byte("first\nsecond\n"))
	got := gorun(t, f, "-np", "2", "true")
	require.Zero(t, got.code)
	rest, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "first\nsecond\n", string(rest))
}

// With -stdin all, ranks that read nothing do not prevent another rank from reading the whole input.
func TestStdinToAllWithARankThatDoesNotRead(t *testing.T) {
	data := noise(9, 1<<20)
	got := gorun(t, bytes.NewReader(data), "-np", "3", "-stdin", "all", "sh", "-c", "if [ $GORUN_RANK = 2 ]; then wc -c; fi")
	require.Zero(t, got.code, got.err)
	require.Equal(t, fmt.Sprint(len(data)), strings.TrimSpace(got.out))
}

// With -stdin all, gorun stores only a few MiB for a rank that does not read. It reads the rest of the input when that
// rank reads.
func TestStdinToAllIsBounded(t *testing.T) {
	const size, most = 32 << 20, 6 << 20 // most includes pipes and windows
	for name, flags := range map[string][]string{"here": {"-np", "2"}, "on a host": {"-host", "a:2", "-rsh", rsh(t)}} {
		t.Run(name, func(t *testing.T) {
			read := filepath.Join(t.TempDir(), "read")
			r := command(t, nil, append(flags, "-stdin", "all", "sh", "-c", "[ $GORUN_RANK = 0 ] || until [ -e "+read+" ]; do sleep 0.01; done; wc -c")...)
			in, err := r.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, r.Start())
			to, ok := in.(interface{ SetWriteDeadline(time.Time) error })
			require.True(t, ok)
			written, piece := 0, make([]byte, 64<<10)
			for written < size { // until no byte is taken for a time
				require.NoError(t, to.SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
				n, err := in.Write(piece)
				if written += n; err != nil {
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
					break
				}
			}
			require.Less(t, written, most)
			require.NoError(t, os.WriteFile(read, nil, 0o644))
			require.NoError(t, to.SetWriteDeadline(time.Time{}))
			_, err = in.Write(make([]byte, size-written))
			require.NoError(t, err)
			require.NoError(t, in.Close())
			require.Zero(t, r.wait(t), r.err.String())
			require.Equal(t, strings.Repeat(fmt.Sprintln(size), 2), r.out.String())
		})
	}
}

// terminal returns both ends of a pseudo terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// Input that is typed on a terminal reaches rank 0, up to the end-of-file character.
func TestTerminalInput(t *testing.T) {
	for _, contain := range contains {
		master, slave := terminal(t)
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, "-np", "2", "sh", "-c", "cat; echo end of rank $GORUN_RANK")
		r.Stdin = slave
		r.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, r.Start())
		_, err := master.WriteString("typed\n\x04")
		require.NoError(t, err)
		require.Zero(t, r.wait(t))
		for _, line := range []string{"typed\n", "end of rank 0\n", "end of rank 1\n"} {
			require.Contains(t, r.out.String(), line, contain)
		}
	}
}

// Ctrl-C on the terminal reaches each rank once.
func TestTerminalInterruptArrivesOnce(t *testing.T) {
	for _, contain := range contains {
		master, slave := terminal(t)
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "2"}, "signals", "SIGTERM")...)
		r.Stdin = slave
		r.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		out := r.lines(t)
		require.NoError(t, r.Start())
		awaitLines(t, out, 2, "ready")
		_, err := master.WriteString("\x03")
		require.NoError(t, err)
		awaitLines(t, out, 2, "SIGINT") // a second SIGINT would kill the ranks
		require.NoError(t, r.Process.Signal(unix.SIGTERM))
		require.Zero(t, r.wait(t))
	}
}

// Ctrl-Z on the terminal stops gorun, which then has the foreground, so that a shell can take it. After SIGCONT,
// the ranks go on, and Ctrl-C reaches them again.
func TestTerminalStop(t *testing.T) {
	for _, contain := range contains {
		master, slave := terminal(t)
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "2"}, "signals", "SIGINT")...)
		r.Stdin = slave
		r.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		out := r.lines(t)
		require.NoError(t, r.Start())
		awaitLines(t, out, 2, "ready")
		_, err := master.WriteString("\x1a")
		require.NoError(t, err)
		r.awaitStop(t)
		group, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPGRP)
		require.NoError(t, err)
		require.Equal(t, r.Process.Pid, group, contain)
		require.NoError(t, r.Process.Signal(unix.SIGCONT))
		awaitLines(t, out, 2, "SIGCONT")
		_, err = master.WriteString("\x03")
		require.NoError(t, err)
		awaitLines(t, out, 2, "SIGINT")
		require.Zero(t, r.wait(t), contain)
	}
}

// After the end of gorun, the next command of a script can read from the terminal.
func TestTerminalAfterTheJob(t *testing.T) {
	for _, contain := range contains {
		master, slave := terminal(t)
		r := command(t, []string{"GORUN_CONTAIN=" + contain})
		r.Path, r.Args = "/bin/sh", []string{"sh", "-c", binary + ` -np 2 -stdin none true && read line && echo "read $line"`}
		r.Stdin = slave
		r.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, r.Start())
		_, err := master.WriteString("typed\n")
		require.NoError(t, err)
		require.Zero(t, r.wait(t), contain)
		require.Equal(t, "read typed\n", r.out.String(), contain)
	}
}

// A gorun in the background of a terminal neither stops nor hangs.
func TestBackgroundOfATerminal(t *testing.T) {
	_, slave := terminal(t)
	// The shell is the foreground process group of the terminal, and gorun runs in its background.
	r := command(t, nil)
	r.Path, r.Args = "/bin/sh", []string{"sh", "-m", "-c", binary + " -np 2 cat & wait $!"}
	r.Stdin = slave
	r.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t))
}

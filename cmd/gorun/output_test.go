package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// noise returns n pseudo-random bytes. They are the same for the same seed.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// Without tags, the output of a rank arrives unchanged, for any bytes and any length.
func TestOutputIsByteExact(t *testing.T) {
	for _, size := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 3<<20 + 17} {
		data := noise(uint64(size), size)
		for _, flags := range [][]string{{"-np", "1"}, {"-np", "2"}, {"-np", "2", "-merge-stderr"}} {
			got := gorun(t, file(t, data), append(flags, "sh", "-c", "if [ $GORUN_RANK = 0 ]; then exec cat; fi")...)
			require.Zero(t, got.code, got.err)
			require.True(t, bytes.Equal(data, []byte(got.out)), "%d bytes with %v", size, flags)
		}
		got := gorun(t, file(t, data), "-np", "2", "sh", "-c", "if [ $GORUN_RANK = 0 ]; then exec cat >&2; fi")
		require.True(t, bytes.Equal(data, []byte(got.err)), "%d bytes on standard error", size)
	}
}

// rankLines is a shell program that writes 200 lines, each in two pieces.
const rankLines = `i=0; while [ $i -lt 200 ]; do printf "rank $GORUN_RANK "; echo "line $i"; i=$((i+1)); done`

// Lines of different ranks are not mixed, with and without labels.
func TestLinesOfRanksDoNotMix(t *testing.T) {
	for flag, format := range map[string]string{"-v=": "rank %d line %d", "-l": "[%d] rank %[1]d line %[2]d"} {
		args := []string{"-np", "4"}
		if flag == "-l" {
			args = append(args, flag)
		}
		got := gorun(t, nil, append(args, "sh", "-c", rankLines)...)
		require.Zero(t, got.code)
		next := make([]int, 4)
		lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
		require.Len(t, lines, 800)
		for _, line := range lines {
			found := false
			for rank := range next {
				if line == fmt.Sprintf(format, rank, next[rank]) {
					next[rank]++
					found = true
					break
				}
			}
			require.True(t, found, line)
		}
	}
}

// Each line begins with the requested label, prefix or time.
func TestTags(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	const clock = `\d\d:\d\d:\d\d\.\d\d\d`
	for name, c := range map[string]struct {
		flags    []string
		out, err string // regular expressions
	}{
		"label":     {[]string{"-l"}, `^\[0\] out\n$`, `^\[0\] err\n$`},
		"long name": {[]string{"--tag-output"}, `^\[0\] out\n$`, `^\[0\] err\n$`},
		"prefix":    {[]string{"-prefix", "<%r,%l %h %s %%> "}, `^<0,0 ` + host + ` out %> out\n$`, `^<0,0 ` + host + ` err %> err\n$`},
		"pid":       {[]string{"-prefix=%p:"}, `^\d+:out\n$`, `^\d+:err\n$`},
		"time":      {[]string{"-prefix", "%t|%t|"}, `^` + clock + `\|` + clock + `\|out\n$`, `err\n$`},
		"timestamp": {[]string{"-timestamp", "-l"}, `^` + clock + ` \[0\] out\n$`, `^` + clock + ` \[0\] err\n$`},
		"merged":    {[]string{"-l", "-merge-stderr"}, `^\[0\] out\n\[0\] err\n$`, `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gorun(t, nil, append(c.flags, "sh", "-c", "echo out; echo err >&2")...)
			require.Zero(t, got.code, got.err)
			require.Regexp(t, regexp.MustCompile(c.out), got.out)
			require.Regexp(t, regexp.MustCompile(c.err), got.err)
		})
	}
	got := gorun(t, nil, "-np", "11", "-l", "sh", "-c", "echo x")
	require.Contains(t, got.out, "[ 3] x\n")
	require.Contains(t, got.out, "[10] x\n")
}

// A tagged last line without a newline gets a newline.
func TestTaggedLineWithoutNewlineEnds(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-l", "sh", "-c", "printf x$GORUN_RANK")
	// The start of an unfinished line of a slow rank is printed early, with a mark at its end.
	out := strings.ReplaceAll(got.out, "\\\n", "\n")
	require.ElementsMatch(t, []string{"[0] x0", "[1] x1", ""}, strings.Split(out, "\n"))
}

// No byte of a very long tagged line is lost. In this test, gorun may cut lines, because the test runs in real
// time. The tests of the splitter prove that a line that ends in time stays whole.
func TestTaggedLongLineLosesNothing(t *testing.T) {
	long := strings.Repeat("abcdefghij", 50_000)
	got := gorun(t, file(t, []byte(long+"\n"+long)), "-l", "cat")
	out := strings.ReplaceAll(got.out, "\\\n[0] ", "")
	require.True(t, out == "[0] "+long+"\n[0] "+long+"\n", "%d bytes", len(got.out))
}

// gorun shows the start of a line, such as a prompt, although the line has not ended.
func TestPartialLineIsShownBeforeItsEnd(t *testing.T) {
	// Rank 0 ends its line only after the test has read the start of the line.
	for flag, want := range map[string]string{"-l": "[0] prompt: \\\n", "-np=2": "prompt: "} {
		r := command(t, nil, flag, "sh", "-c", `if [ $GORUN_RANK = 0 ]; then printf "prompt: "; read answer; echo $answer; fi`)
		stdin, err := r.StdinPipe()
		require.NoError(t, err)
		r.Stdout = nil
		stdout, err := r.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, r.Start())
		got := make([]byte, len(want))
		_, err = readFull(stdout, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		_, err = stdin.Write([]byte("yes\n"))
		require.NoError(t, err)
		rest := make([]byte, 64)
		n, _ := readFull(stdout, rest)
		require.Contains(t, string(rest[:n]), "yes\n")
		require.Zero(t, r.wait(t))
	}
}

// With -output-dir, each rank's output goes to files in a directory that gorun makes.
func TestOutputDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	got := gorun(t, nil, "-np", "2", "-output-dir", dir, "sh", "-c", "printf out$GORUN_RANK; echo err$GORUN_RANK >&2")
	require.Equal(t, result{}, got)
	for name, want := range map[string]string{"rank.0.out": "out0", "rank.1.out": "out1", "rank.0.err": "err0\n", "rank.1.err": "err1\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

// If the reader of gorun's output closes it, the job ends as with SIGPIPE, without a message.
func TestClosedOutputEndsTheJobQuietly(t *testing.T) {
	r := command(t, nil, "-np", "2", "sh", "-c", "while :; do echo y; done")
	read := startPiped(t, r, 100)
	require.NoError(t, read.Close())
	require.Equal(t, 141, r.wait(t))
	require.Empty(t, r.err.String())
}

// If the output cannot be written, the job fails and gorun prints the reason.
func TestFullDiskIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer func() { require.NoError(t, full.Close()) }()
	r := command(t, nil, "-np", "2", "echo", "x")
	r.Stdout = full
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "no space left")
}

// gorun does not wait for a background process that a rank has left with its output open.
func TestGrandchildHoldingTheOutputDoesNotHang(t *testing.T) {
	for _, contain := range contains {
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, "-np", "2", "sh", "-c", "setsid sleep 1000 & echo done")
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t))
		require.Equal(t, "done\ndone\n", r.out.String())
		require.Empty(t, launch.Marked(r.mark))
	}
}

// startPiped starts gorun with a pipe as its standard output. It reads n bytes, and returns the reading end of the pipe.
func startPiped(t *testing.T, r *run, n int) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	r.Stdout = write
	require.NoError(t, r.Start())
	require.NoError(t, write.Close())
	_, err = readFull(read, make([]byte, n))
	require.NoError(t, err)
	return read
}

// unread starts a job and reads only the first byte of its output. It returns gorun, after all ranks have exited with
// the code exit, and the reading end of gorun's standard output.
func unread(t *testing.T, env []string, exit string) (*run, *os.File) {
	t.Helper()
	// The output of a rank fits in its pipe. The output of all ranks does not fit in the pipe of the reader.
	r := command(t, env, "-np", "3", "-on-failure", "continue", "sh", "-c", "head -c 60001 /dev/zero; echo reason >&2; exit "+exit)
	read := startPiped(t, r, 1)
	require.Eventually(t, func() bool { return len(descendants(t, r.Process.Pid, "head -c")) == 0 }, limit, time.Millisecond)
	return r, read
}

// If an interrupt ends the wait for a reader of gorun's output, the job has failed, because output is lost. The
// failure of a rank before the interrupt determines the exit code.
func TestInterruptBeforeAllOutputIsWritten(t *testing.T) {
	for exit, code := range map[string]int{"0": 143, "3": 3} {
		r, read := unread(t, nil, exit)
		// The first signal may arrive before gorun knows that all ranks have ended.
		require.Equal(t, code, r.waitSignaling(t, unix.SIGTERM), r.err.String())
		require.NoError(t, read.Close())
		if exit == "0" {
			require.Contains(t, r.err.String(), "first failure: interrupted by SIGTERM")
		} else {
			require.Contains(t, r.err.String(), "exited with code 3")
		}
		require.Contains(t, r.err.String(), "interrupted by SIGTERM before all output was written")
	}
}

// Ctrl-Z stops gorun also while it waits for a reader of its output, because the shell waits until all processes of a
// pipeline are stopped. SIGHUP ends gorun's wait for the reader.
func TestStopBeforeAllOutputIsWritten(t *testing.T) {
	for _, contain := range contains {
		r, read := unread(t, []string{"GORUN_CONTAIN=" + contain}, "0")
		for range 3 { // gorun may not know yet that all ranks have ended when the first signal arrives
			require.NoError(t, r.Process.Signal(unix.SIGTSTP))
			awaitStopped(t, itoa(r.Process.Pid))
			require.NoError(t, r.Process.Signal(unix.SIGCONT))
			// The next SIGTSTP would discard a SIGCONT that gorun has not passed on yet.
			for _, pid := range children(t, r.Process.Pid, "-gorun-inside") {
				require.Eventually(t, func() bool { return !isStopped(t, itoa(pid)) }, limit, 1)
			}
			time.Sleep(10 * time.Millisecond) // so that a later SIGTSTP arrives while gorun waits for the reader, which nothing shows
		}
		require.Equal(t, 129, r.waitSignaling(t, unix.SIGHUP), r.err.String())
		require.NoError(t, read.Close())
		require.Contains(t, r.err.String(), "interrupted by SIGHUP before all output was written")
	}
}

// After a rank was started again, the tags have the host and the process ID of the new process, and the report has
// the time at which the new process was started.
func TestTagsAfterARespawn(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		kill  string
		hosts []string // of the two processes
	}{
		"here":         {nil, "kill -9 $$", []string{"", ""}},
		"a host":       {[]string{"-host", "a"}, "kill -9 $$", []string{"a", "a"}},
		"another host": {[]string{"-host", "a,b", "-np", "1"}, "kill -9 $PPID; exec sleep 1000", []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			report := filepath.Join(dir, "report.json")
			flags := append(slices.Clone(c.flags), "-report", report, "-on-failure", "respawn", "-prefix", "%h %p ")
			if len(c.hosts[0]) > 0 {
				flags = append(flags, "-rsh", rsh(t))
			} else {
				host, err := os.Hostname()
				require.NoError(t, err)
				c.hosts = []string{host, host}
			}
			script := "echo $$; mkdir first || exit 0; until [ -e read ]; do sleep 0.01; done; " + c.kill
			r := command(t, nil, append(flags, "-wdir", dir, "sh", "-c", script)...)
			out := r.lines(t)
			require.NoError(t, r.Start())
			var lines []string
			for range 2 {
				line, err := out.ReadString('\n')
				require.NoError(t, err)
				lines = append(lines, strings.TrimSpace(line))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "read"), nil, 0o600)) // an agent that is killed sends no more output
			}
			require.Zero(t, r.wait(t), r.err.String())
			for i, line := range lines {
				pid := line[strings.LastIndexByte(line, ' ')+1:]
				require.Equal(t, c.hosts[i]+" "+pid+" "+pid, line)
			}
			var written struct{ Ranks []struct{ Started time.Time } }
			text, err := os.ReadFile(report)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &written))
			died, err := os.Stat(filepath.Join(dir, "first"))
			require.NoError(t, err)
			require.True(t, died.ModTime().Before(written.Ranks[0].Started), "%v %v", died.ModTime(), written.Ranks[0].Started)
		})
	}
}

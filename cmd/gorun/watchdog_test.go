package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/watchdog"
)

// startWatchdog starts a watchdog without gorun, and returns gorun's end of its pipe and its
// standard error.
func startWatchdog(t *testing.T, orders ...string) (*exec.Cmd, *os.File, *bytes.Buffer) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := exec.Command(binary, append([]string{watchdog.Command}, orders...)...)
	c.ExtraFiles = []*os.File{r}
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1", "GOMAXPROCS=1")
	said := &bytes.Buffer{}
	c.Stderr = said
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _, _ = c.Process.Wait() })
	require.NoError(t, r.Close())
	return c, w, said
}

// A watchdog initializes the packages of gorun only when it has to clean up, because the initialization takes
// longer than the start of an empty program.
func TestWatchdogWaitsBeforeInitialization(t *testing.T) {
	const other = "init github.com/gorun-hpc/gorun/bootstrap @"
	c, w, said := startWatchdog(t)
	_, err := w.Write([]byte{watchdog.Clean})
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	require.NotContains(t, said.String(), other)
	require.Contains(t, said.String(), "init os @")
	require.NoError(t, w.Close())

	c, w, said = startWatchdog(t)
	require.NoError(t, w.Close())
	require.NoError(t, c.Wait())
	require.Contains(t, said.String(), other, "it has orders to carry out")
}

// A watchdog ignores the signals that end or stop a job. Afterwards, it still removes the files that are left of the
// job.
func TestWatchdogOutlivesSignals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gorun-left")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "below"), 0o700))
	c, w, _ := startWatchdog(t, "-scratch", dir)
	signals := []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP}
	require.Eventually(t, func() bool { return ignores(t, c.Process.Pid, signals) }, time.Minute, time.Millisecond)
	for _, s := range signals {
		require.NoError(t, c.Process.Signal(s))
	}
	require.DirExists(t, dir)
	require.NoError(t, w.Close())
	require.NoError(t, c.Wait())
	require.NoDirExists(t, dir)
}

// ignores reports whether a process ignores all of these signals, according to proc(5).
func ignores(t *testing.T, pid int, signals []unix.Signal) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	mask, err := strconv.ParseUint(string(regexp.MustCompile(`(?m)^SigIgn:\t([0-9a-f]+)$`).FindSubmatch(text)[1]), 16, 64)
	require.NoError(t, err)
	for _, s := range signals {
		if mask&(1<<(s-1)) == 0 {
			return false
		}
	}
	return true
}

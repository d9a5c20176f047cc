package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// haltOf returns T for a process that a signal has stopped, until the process is continued. It returns "" for
// a process that runs. A program name with parentheses does not change the result.
func TestHalt(t *testing.T) {
	require.Empty(t, haltOf(os.Getpid()))
	require.Empty(t, haltOf(0))
	name := t.TempDir() + "/a) T (b"
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(sleep, name))
	c := exec.Command(name, "60")
	require.NoError(t, c.Start())
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	state := func(want string) {
		require.Eventually(t, func() bool { return haltOf(c.Process.Pid) == want }, 10*time.Second, time.Millisecond, "%q", want)
	}
	state("")
	require.NoError(t, c.Process.Signal(unix.SIGSTOP))
	state("T")
	require.NoError(t, c.Process.Signal(unix.SIGCONT))
	state("")
}

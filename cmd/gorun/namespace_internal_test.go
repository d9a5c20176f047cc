package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// envContained is in the environment of the gorun that TestContainedRunsTheJobOnce starts in a PID namespace.
// That gorun is this test binary, and exits at once with the code containedCode.
const (
	envContained  = "GORUN_TEST_CONTAINED"
	containedCode = 7
)

func init() {
	if os.Getenv(envContained) != "" {
		os.Exit(containedCode)
	}
}

// TestContainedRunsTheJobOnce checks a process that has started a gorun in a PID namespace, but cannot wait for
// the end of that gorun. The process must not run the ranks itself, because that gorun may have run them.
func TestContainedRunsTheJobOnce(t *testing.T) {
	t.Setenv(envContained, "1")
	t.Setenv(containEnv, "")
	code, err := relaunch(nil, "")
	if code == 0 {
		t.Skip(err) // this user may not make PID namespaces here
	}
	require.NoError(t, err)
	require.Equal(t, containedCode, code)

	// While a process ignores SIGCHLD, the kernel discards the exit codes of the children of the process.
	signal.Ignore(unix.SIGCHLD)
	defer func() { // Reset would leave SIGCHLD ignored
		c := make(chan os.Signal, 1)
		signal.Notify(c, unix.SIGCHLD)
		signal.Stop(c)
	}()
	n := &node{contain: outside{}, say: func(string, ...any) {}}
	here, code, err := n.contained(nil)
	if n.dog != nil {
		require.NoError(t, n.dog.dismiss())
	}
	require.ErrorIs(t, err, syscall.ECHILD)
	require.False(t, here)
	require.Equal(t, exitLauncher, code)
}

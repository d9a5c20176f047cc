package main_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A signal while hosts are being reached ends gorun and all processes of the -rsh commands.
func TestSignalsWhileHostsAreReached(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		fifo := filepath.Join(t.TempDir(), "begun")
		require.NoError(t, unix.Mkfifo(fifo, 0o600))
		r := command(t, nil, "-host", "a,b", "-rsh", script(t, "sleep 1000 &\necho begun >"+fifo+"\nwait\n"), "true")
		require.NoError(t, r.Start())
		for range 2 {
			begun, err := os.ReadFile(fifo)
			require.NoError(t, err)
			require.Contains(t, string(begun), "begun")
			if strings.Count(string(begun), "begun") == 2 {
				break
			}
		}
		require.NoError(t, r.Process.Signal(s))
		require.Equal(t, 128+int(s), r.wait(t), r.err.String())
		require.Equal(t, "gorun: interrupted by "+unix.SignalName(s)+" before the ranks were started\n", r.err.String())
		gone(t, r)
	}
}

// Before the ranks run, too, gorun ignores a hangup that was ignored when it was started (nohup).
func TestIgnoredHangupDuringABuild(t *testing.T) {
	tools := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\necho builds\nexec sleep 1000\n"), 0o755))
	r := command(t, []string{"PATH=" + tools + ":" + os.Getenv("PATH")}, "-np", "2", module(t))
	r.Path, r.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, r.Args...)
	r.Stderr = nil
	said, err := r.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "builds\n", line)
	require.NoError(t, r.Process.Signal(unix.SIGHUP))
	require.NoError(t, r.Process.Signal(unix.SIGTERM))
	require.Equal(t, 143, r.wait(t))
}

// If two hosts are one machine, only one of their two agents runs ranks. The other agent has nothing to kill at the end
// of the grace period, and does not end the job with an error.
func TestInterruptOfHostsThatAreOneNode(t *testing.T) {
	hosts := []string{"-host", "same1:2,same2:2", "-rsh", rsh(t), "-grace", "0.2"}
	r, _ := ready(t, 4, "ready", nil, append(hosts, "sh", "-c", "trap '' INT; echo ready; while :; do sleep 1; done"))
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	require.Equal(t, 130, r.wait(t))
	require.NotContains(t, r.err.String(), "agent")
}

// A signal before the ranks run also ends a gorun that runs as process 1 of a PID namespace. The kernel discards
// the signals that such a process does not handle.
func TestSignalsBeforeTheRanksOfANamespaceRun(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		tools, scratch := t.TempDir(), t.TempDir()
		fifo := filepath.Join(tools, "asked")
		require.NoError(t, unix.Mkfifo(fifo, 0o600))
		// The gorun outside is the first that asks the go command about the program.
		require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\ncd "+tools+"\nmkdir first && exit\necho inside >asked\nexec sleep 1000\n"), 0o755))
		r := command(t, []string{"GORUN_CONTAIN=namespace", "PATH=" + tools + ":" + os.Getenv("PATH"), "TMPDIR=" + scratch}, "-np", "2", "module/program")
		require.NoError(t, r.Start())
		asked, err := os.ReadFile(fifo)
		require.NoError(t, err)
		require.Equal(t, "inside\n", string(asked))
		require.NoError(t, r.Process.Signal(s))
		require.Equal(t, 128+int(s), r.wait(t), r.err.String())
		require.Equal(t, "gorun: interrupted by "+unix.SignalName(s)+" before the ranks were started\n", r.err.String())
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// find confirms a probe of a process that is visible in this machine's /proc and has the right file
// open. It refuses a process of another machine or user, and does not block on an empty pipe.
func TestProbeFindsThisProcessAndNoOther(t *testing.T) {
	f, probe, err := newProbe()
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.Equal(t, os.Getpid(), probe.PID)
	require.Empty(t, find(probe))

	other := probe
	other.Nonce = append([]byte{probe.Nonce[0] + 1}, probe.Nonce[1:]...)
	require.Contains(t, find(other), "has another nonce", "a machine that only looks alike")
	other = probe
	other.FD = 1 << 20
	require.Contains(t, find(other), "no such file")
	other.PID = 1 << 30
	require.Contains(t, find(other), "no such file")

	if os.Geteuid() == 0 { // root can read the processes of other users, and must not match them
		require.NoError(t, f.Chown(os.Geteuid()+1, -1))
		require.Contains(t, find(probe), "of user 1, this one of user 0")
	}

	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	p, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	// The pipe is empty. find must not block when it opens and reads the pipe.
	require.NotEmpty(t, find(link.Probe{PID: probe.PID, FD: int(p.Fd()), Nonce: probe.Nonce}))
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/allocation"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// podConn returns both ends of a connection between the first pod and another pod.
func podConn(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	return os.NewFile(uintptr(fds[0]), "first"), os.NewFile(uintptr(fds[1]), "pod")
}

// TestASilentPodKeepsNobodyWaiting lets a pod connect and send nothing. The test checks that this connection
// delays neither later pods nor the pod's own second connection.
func TestASilentPodKeepsNobodyWaiting(t *testing.T) {
	j := &job{opts: &options{answer: podHelloTimeout * 2 / 3, pods: &allocation.Pods{Count: 3}}, files: &files{}}
	for i := range j.opts.pods.Count {
		j.hosts = append(j.hosts, &host{job: j, name: fmt.Sprint("pod-", i), ranks: []*rank{{number: i}}})
	}
	come, done := make(chan visit), make(chan struct{})
	j.visits = &visits{come: come, done: done}
	result := make(chan error, 1)
	go func() { result <- j.receivePods() }()
	probe, where, err := newProbe()
	require.NoError(t, err)
	defer func() { assert.NoError(t, probe.Close()) }()
	ours, silent := podConn(t)
	come <- visit{number: 1, conn: ours}
	for _, number := range []int{2, 1} {
		ours, theirs := podConn(t)
		come <- visit{number: number, conn: ours}
		_, err := theirs.Write(link.Preamble(moduleVersion()))
		require.NoError(t, err)
		agent := link.NewConn(bufio.NewReader(theirs), theirs)
		k, _, err := agent.Receive()
		require.NoError(t, err)
		require.Equal(t, link.KindGreet, k)
		agent.Send(link.KindHello, link.Encode(link.Hello{Probe: where}))
		defer func() { assert.NoError(t, theirs.Close()) }()
	}
	select {
	case err := <-result:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "pods are awaited")
	}
	close(done)
	raw, err := silent.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) }))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, silent) // until the first pod closes this connection
	require.NoError(t, err)
	require.NoError(t, silent.Close())
	for _, h := range j.hosts[1:] {
		require.Same(t, h, h.ranks[0].remote)
		h.quit()
		require.NoError(t, h.out.Close())
	}
}

// A variable that several programs of a job get by -x is in the manifest once. Kubernetes refuses a second entry of a
// name in a server-side apply.
func TestVariablesOfSeveralProgramsInPods(t *testing.T) {
	t.Setenv("SET", "value")
	words, passed := podCommand([]string{"-x", "SET", "-x", "OTHER=1", "a", ":", "-x", "SET", "b"})
	require.Equal(t, []string{"-x", "SET", "-x", "OTHER=1", "a", ":", "-x", "SET", "b"}, words)
	require.Equal(t, []variable{{"SET", "value"}}, passed)
}

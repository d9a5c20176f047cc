package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sockets returns the directory of the sockets for gorun inspect under a TMPDIR, if XDG_RUNTIME_DIR
// is not set.
func sockets(tmp string) string { return filepath.Join(tmp, fmt.Sprint("gorun-", os.Geteuid())) }

// inspectIn runs gorun inspect with the TMPDIR of a job.
func inspectIn(t *testing.T, tmp string, args ...string) result {
	t.Helper()
	r := command(t, []string{"TMPDIR=" + tmp, "XDG_RUNTIME_DIR="}, append([]string{"inspect"}, args...)...)
	require.NoError(t, r.Start())
	return result{code: r.wait(t), out: r.out.String(), err: r.err.String()}
}

// gorun inspect finds a job by its socket, which the job removes when it ends. The socket of a
// killed gorun is removed by the next gorun or gorun inspect.
func TestSocketOfAJob(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			tmp := t.TempDir()
			start := func() *run {
				r, _ := ready(t, 1, "ready", []string{"GORUN_CONTAIN=" + contain, "TMPDIR=" + tmp, "XDG_RUNTIME_DIR="},
					[]string{"-np", "1", "sh", "-c", "echo ready; trap exit TERM; while :; do sleep 0.01; done"})
				return r
			}
			left := func() []os.DirEntry {
				entries, err := os.ReadDir(sockets(tmp))
				if !os.IsNotExist(err) {
					require.NoError(t, err)
				}
				return entries
			}
			r := start()
			// The test waits, because the rank may print before the socket exists, and the socket may exist
			// before gorun listens on it.
			require.Eventually(t, func() bool { return len(left()) == 1 }, time.Minute, time.Millisecond)
			job, _, _ := strings.Cut(left()[0].Name(), ".") // by name, because inspect also finds jobs of other tests
			shown := inspectIn(t, tmp, job)
			for shown.code != 0 {
				shown = inspectIn(t, tmp, job)
			}
			require.Contains(t, shown.out, "gorun -np 1 sh -c")
			require.Len(t, left(), 1)
			kill9(r.Process.Pid)
			require.Equal(t, 137, r.wait(t))
			nothingLeft(t, r)
			require.Len(t, left(), 1)
			shown = inspectIn(t, tmp, job)
			require.Equal(t, 125, shown.code)
			require.Regexp(t, `no job of this user is found on this machine: none has a socket in `+sockets(tmp)+`, |no such job as `+job, shown.err)
			require.NoDirExists(t, sockets(tmp))

			r = start()
			kill9(r.Process.Pid)
			require.Equal(t, 137, r.wait(t))
			nothingLeft(t, r)
			r = start()
			require.NoError(t, r.Process.Signal(os.Interrupt))
			r.wait(t)
			require.NoDirExists(t, sockets(tmp))
		})
	}
}

// If the directory of the sockets could belong to another user, the job runs without a socket, and
// gorun warns of it.
func TestJobWithoutASocket(t *testing.T) {
	tmp := t.TempDir()
	require.NoError(t, os.Symlink(t.TempDir(), sockets(tmp)))
	r := command(t, []string{"TMPDIR=" + tmp, "XDG_RUNTIME_DIR="}, "-np", "1", "echo", "done")
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t))
	require.Equal(t, "done\n", r.out.String())
	require.Regexp(t, `^gorun: gorun inspect cannot show this job: socket of job \S+: directory `+sockets(tmp)+`: it is a link: it is not used\n$`, r.err.String())
	shown := inspectIn(t, tmp, "no-such-job") // by name, because inspect also finds jobs of other tests
	require.Equal(t, 125, shown.code)
	require.Contains(t, shown.err, "directory "+sockets(tmp)+": it is a link: it is not used")
}

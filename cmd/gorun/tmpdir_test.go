package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A relative TMPDIR is a directory below gorun's working directory, also for the build of a program, for ranks that run
// in another directory, and for the removal of gorun's files after gorun was killed.
func TestRelativeTMPDIR(t *testing.T) {
	for _, contain := range contains {
		env := []string{"GORUN_CONTAIN=" + contain, "TMPDIR=tmp", "GOFLAGS="}
		dir := module(t)
		tmp := filepath.Join(dir, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o700))
		for _, hosts := range [][]string{{"-np", "2"}, {"-host", "a,b", "-rsh", rsh(t)}} {
			r := command(t, env, append(hosts, "-wdir", "/", "./cmd/say", ":", "sh", "-c", "echo $TMPDIR >&2")...)
			r.Dir = dir
			require.NoError(t, r.Start())
			require.Zero(t, r.wait(t), r.err.String())
			require.Contains(t, r.err.String(), "say\n")
			require.Contains(t, r.err.String(), tmp+"\n")
			require.Empty(t, scratch(t, tmp))
			require.NoDirExists(t, filepath.Join(dir, "cmd", "say", "tmp"))
		}
		r := command(t, env, "sh", "-c", "echo ready; exec sleep 1000", ":", buildable(t))
		r.Dir = dir
		out := r.lines(t)
		require.NoError(t, r.Start())
		awaitLines(t, out, 2, "ready")
		require.Len(t, scratch(t, tmp), 1)
		kill9(r.Process.Pid)
		require.Equal(t, 137, r.wait(t))
		nothingLeft(t, r)
		require.Empty(t, scratch(t, tmp))
	}
}

// If TMPDIR is relative on a host to which gorun is copied, and the copied gorun is killed, no file of it is left.
func TestRelativeTMPDIROfACopy(t *testing.T) {
	if _, err := exec.LookPath("gzip"); err != nil {
		t.Skip("no gzip: ", err)
	}
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(tmp, 0o700))
	there := script(t, "shift; cd "+dir+"; export TMPDIR=tmp XDG_RUNTIME_DIR= GORUN_CONTAIN=scan; exec \"$@\"\n")
	list := filepath.Join(dir, "list") // not standard output, which ends with the agent
	got := gorun(t, nil, "-copy", "-host", "a", "-rsh", there, "sh", "-c", "ls "+tmp+" >"+list+"; kill -9 $PPID")
	require.NotZero(t, got.code)
	listed, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Regexp(t, `^gorun-\w+\n$`, string(listed))
	require.Eventually(t, func() bool { return len(scratch(t, tmp)) == 0 }, time.Minute, time.Millisecond)
}

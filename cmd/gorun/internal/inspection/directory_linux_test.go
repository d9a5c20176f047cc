package inspection_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/inspection"
)

// nobody is the ID of a user who does not run the test.
const nobody = 65534

// silent returns no report, like a job that has ended.
func silent(int) *inspection.Report { return nil }

// here sets TMPDIR to an empty directory. It returns the path of the directory of sockets, which will be made
// in TMPDIR.
func here(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("XDG_RUNTIME_DIR", "")
	return filepath.Join(dir, fmt.Sprint("gorun-", os.Geteuid()))
}

// socket returns the path of the only socket of a directory.
func socket(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return filepath.Join(dir, entries[0].Name())
}

// stale leaves a socket of a job on which no process listens.
func stale(t *testing.T, dir, job string) string {
	t.Helper()
	s, err := inspection.Listen(job, silent)
	require.NoError(t, err)
	path := socket(t, dir)
	require.NoError(t, s.Close())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	return path
}

// Only the user can connect to the socket of a job, and Close removes the socket and its directory.
func TestModes(t *testing.T) {
	runtime := t.TempDir()
	require.NoError(t, os.Chmod(runtime, 0o700))
	for _, xdg := range []bool{false, true} {
		dir := here(t)
		if xdg {
			t.Setenv("XDG_RUNTIME_DIR", runtime)
			dir = filepath.Join(runtime, "gorun")
		}
		require.NoError(t, os.Mkdir(dir, 0o755), "of an earlier gorun, perhaps")
		s, err := inspection.Listen(name(t), silent)
		require.NoError(t, err)
		st, err := os.Lstat(dir)
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, st.Mode())
		st, err = os.Lstat(socket(t, dir))
		require.NoError(t, err)
		require.Equal(t, os.ModeSocket|0o600, st.Mode())
		jobs, err := inspection.Jobs()
		require.NoError(t, err)
		require.Contains(t, jobs, name(t))
		require.NoError(t, s.Close())
		require.NoDirExists(t, dir)
	}
}

// An XDG_RUNTIME_DIR is not used if it belongs to another user (as after su), if other users can write to it,
// if it does not exist, or if its path is relative.
func TestUnusableRuntimeDirectory(t *testing.T) {
	dir := here(t)
	for _, bad := range []func(dir string) error{
		func(dir string) error { return os.Chmod(dir, 0o770) }, //nolint:gosec // that is the mistake
		os.Remove,
		func(dir string) error {
			if os.Geteuid() != 0 {
				return os.Remove(dir)
			}
			return os.Chown(dir, nobody, nobody)
		},
	} {
		runtime := t.TempDir()
		require.NoError(t, bad(runtime))
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		require.Equal(t, dir, inspection.Directories()[0])
	}
	t.Setenv("XDG_RUNTIME_DIR", "relative")
	require.Equal(t, dir, inspection.Directories()[0])
}

// A directory in which other users could have made sockets is not used, and the error states the reason.
func TestDirectoryOfOthers(t *testing.T) {
	for _, c := range []struct {
		why  string
		make func(dir string) error
	}{
		{"it is a link", func(dir string) error { return os.Symlink(t.TempDir(), dir) }},
		{"it is no directory", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		{`others can write to it \(mode 0770\)`, func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o770) //nolint:gosec // that is the mistake
		}},
		{"it belongs to user 65534", func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chown(dir, nobody, nobody)
		}},
	} {
		dir := here(t)
		if err := c.make(dir); os.IsPermission(err) {
			t.Skip("no right to give a directory away: ", err)
		} else {
			require.NoError(t, err)
		}
		_, err := inspection.Listen(name(t), silent)
		require.ErrorIs(t, err, inspection.ErrDirectory)
		require.Regexp(t, "directory "+dir+": "+c.why, err)
		_, err = inspection.Jobs()
		require.ErrorIs(t, err, inspection.ErrDirectory)
		_, err = inspection.Dial(name(t))
		require.ErrorIs(t, err, inspection.ErrNoJob)
	}
}

// A process that lists the jobs removes the socket that a killed gorun has left. The start of the next job
// also removes such a socket.
func TestStaleSockets(t *testing.T) {
	dir := here(t)
	path := stale(t, dir, name(t))
	_, err := inspection.Dial(name(t))
	require.ErrorIs(t, err, inspection.ErrNoJob)
	require.FileExists(t, path)
	jobs, err := inspection.Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, name(t))
	require.NoDirExists(t, dir)

	path = stale(t, dir, name(t))
	s, err := inspection.Listen(name(t)+"-next", silent)
	require.NoError(t, err)
	require.NotEqual(t, path, socket(t, dir))
	require.NoError(t, s.Close())
	require.NoDirExists(t, dir)
}

// The socket of another machine that shares the directory is not removed.
func TestFilesOfOthersStay(t *testing.T) {
	dir := here(t)
	path := stale(t, dir, name(t))
	other := path[:strings.LastIndex(path, ".")] + ".0"
	require.NoError(t, os.Rename(path, other))
	_, err := inspection.Jobs()
	require.NoError(t, err)
	require.Equal(t, other, socket(t, dir))
}

// A socket works even if its path is too long for the address of a Unix socket.
func TestLongDirectory(t *testing.T) {
	for _, length := range []int{40, 60, 80, 100, 120, 200} {
		dir := filepath.Join(filepath.Dir(here(t)), strings.Repeat("x", length))
		require.NoError(t, os.Mkdir(dir, 0o700))
		t.Setenv("TMPDIR", dir)
		s, c := opened(t, silent)
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// as calls the function do in the current thread with another effective user ID, which is the argument user.
// It skips the test if that is not permitted.
func as(t *testing.T, user uintptr, do func()) {
	t.Helper()
	goruntime.LockOSThread() // setresuid as a raw system call changes only the thread
	defer goruntime.UnlockOSThread()
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, user, same); errno != 0 {
		t.Skip("no right to be another user: ", errno)
	}
	do()
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(os.Getuid()), same); errno != 0 {
		panic(errno)
	}
}

// Jobs of other users are not listed. Root can inspect them by name, but another user cannot inspect root's
// jobs.
func TestJobsOfOtherUsers(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp") // where another user can make a directory
	t.Setenv("XDG_RUNTIME_DIR", "")
	var s *inspection.Server
	var err error
	as(t, nobody, func() { s, err = inspection.Listen(name(t), silent) })
	require.NoError(t, err)
	jobs, err := inspection.Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, name(t))
	c, err := inspection.Dial(name(t))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())

	s, err = inspection.Listen(name(t), silent)
	require.NoError(t, err)
	as(t, nobody, func() { _, err = inspection.Dial(name(t)) })
	require.ErrorIs(t, err, inspection.ErrNoJob)
	require.NoError(t, s.Close())
}

// A client refuses a socket on which a process of another user listens.
func TestServerOfAnotherUser(t *testing.T) {
	dir := here(t)
	path := stale(t, dir, name(t))
	require.NoError(t, os.Remove(path))
	var l net.Listener
	var err error
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)) //nolint:gosec // another user has to get there
	require.NoError(t, os.Chmod(dir, 0o755))                             //nolint:gosec // as above
	l, err = net.Listen("unix", path)                                    //nolint:noctx // it does not wait
	require.NoError(t, err)
	// A client sees the credentials of the process that called listen last. This call replaces them by the
	// credentials of its caller.
	raw, err := l.(*net.UnixListener).SyscallConn()
	require.NoError(t, err)
	as(t, nobody, func() {
		require.NoError(t, raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), 1) }))
	})
	require.NoError(t, err)
	_, err = inspection.Dial(name(t))
	require.ErrorIs(t, err, inspection.ErrUser)
	require.NoError(t, l.Close())
}

// An answer that does not come from gorun ends the request with an error.
func TestForeignServer(t *testing.T) {
	path := stale(t, here(t), name(t))
	require.NoError(t, os.Remove(path))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("{]\n"))
			_ = conn.Close()
		}
	}()
	c, err := inspection.Dial(name(t))
	require.NoError(t, err)
	_, err = c.Report(-1)
	require.Error(t, err)
	require.NoError(t, c.Close())
}

package nscluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// newCgroup makes a cgroup for the processes of the hosts, below that of this
// process, and returns its directory: what they make there is removed with the cluster,
// even if no process of a dead host can remove it. It returns "" if there is no writable
// cgroup v2 file system; then the hosts cannot make cgroups either.
func newCgroup() string {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	_, path, _ := strings.Cut("\n"+string(self), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line) // proc(5): id parent major:minor root mountpoint ...
		if path == "" || len(fields) < 6 || !strings.Contains(line, " - cgroup2 ") {
			continue
		}
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/"))
		if !ok {
			continue
		}
		if dir, err := os.MkdirTemp(filepath.Join(fields[4], below), "nscluster-"); err == nil {
			return dir
		}
	}
	return ""
}

// emptyCgroup kills what is left in a cgroup, and waits until it is gone.
func emptyCgroup(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err != nil {
		return err
	}
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	for {
		var text [128]byte
		n, err := events.ReadAt(text[:], 0)
		if n == 0 && err != nil {
			return err
		}
		if !strings.Contains(string(text[:n]), "populated 1") {
			return nil
		}
		// A change of the file is POLLPRI (cgroup-v2.rst).
		poll := []unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(poll, 100); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// removeCgroup removes a cgroup without processes, and those below it.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeCgroup(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, os.Remove(dir))
}

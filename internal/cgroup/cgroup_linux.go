package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Own returns the directory of this process's cgroup in a writable
// mount of the cgroup v2 file system.
func Own() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return dirOf(string(mounts), string(self))
}

// dirOf returns the directory of the cgroup of a process. mounts is the text of its
// /proc/PID/mountinfo, and self is the text of its /proc/PID/cgroup.
func dirOf(mounts, self string) (string, error) {
	path := ""
	for line := range strings.Lines(self) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", errors.New("this process has no cgroup v2")
	case path == "/.." || strings.HasPrefix(path, "/../"):
		return "", errors.New("the cgroup of this process is outside of its cgroup namespace") // cgroup_namespaces(7)
	}
	for line := range strings.Lines(mounts) {
		// proc(5): id parent major:minor root mountpoint options ... - type
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 6 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, point := unescape(fields[3]), unescape(fields[4])
		if mode, _, _ := strings.Cut(fields[5], ","); mode != "rw" {
			continue
		}
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
		if ok && (below == "" || below[0] == '/') {
			return filepath.Join(point, below), nil
		}
	}
	return "", errors.New("no writable cgroup v2 file system is mounted")
}

// unescape undoes the octal escapes of mountinfo: space, tab, newline and
// backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// deadline bounds the wait for the end of killed processes. Only a process that hangs in the kernel takes
// longer to end.
const deadline = 10 * time.Second

// Kill kills every process of a cgroup and of the cgroups below it, and returns when no process is left. It returns
// an error if processes are left after the time deadline. It is no error if the cgroup does not exist.
func Kill(dir string) error {
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	if populated, err := isPopulated(events); err != nil || !populated {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err != nil {
		return err
	}
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		populated, err := isPopulated(events)
		if err != nil || !populated {
			return err
		}
		// The kernel reports a change of the file as POLLPRI (cgroup-v2.rst).
		poll := []unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(poll, 100); err != nil && err != unix.EINTR {
			return fmt.Errorf("poll %s: %w", events.Name(), err)
		}
	}
	return fmt.Errorf("processes in %s survive SIGKILL", dir)
}

func isPopulated(events *os.File) (bool, error) {
	var buf [128]byte
	n, err := events.ReadAt(buf[:], 0)
	if n == 0 && err != nil {
		return false, err
	}
	return strings.Contains(string(buf[:n]), "populated 1"), nil
}

// Remove removes a cgroup without processes and the cgroups below it. It is no error if the cgroup
// does not exist.
func Remove(dir string) error {
	// rmdir(2) is tried first, because most cgroups have no cgroups below them, and listing the directory
	// would read some 40 entries.
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}

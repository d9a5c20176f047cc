package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the containment by a directory of the cgroup v2 file system.
type cgroup struct {
	dir string
	fd  *os.File
}

// newCgroup chooses a directory for a job below the cgroup of this process.
func newCgroup(id string) (*cgroup, error) {
	parent, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	// Moving a process into a child requires write permission for this file of the common
	// ancestor (cgroups(7), "Delegation").
	if err := unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK); err != nil {
		return nil, fmt.Errorf("cgroup %s is not ours: %w", parent, err)
	}
	return &cgroup{dir: filepath.Join(parent, "gorun-"+id)}, nil
}

func (c *cgroup) make() error {
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	// cgroup.kill came with Linux 5.14.
	_, err := os.Stat(filepath.Join(c.dir, "cgroup.kill"))
	if err == nil {
		c.fd, err = os.Open(c.dir)
	}
	if err != nil {
		return errors.Join(err, os.Remove(c.dir))
	}
	return nil
}

// ownCgroup returns the directory of this process's cgroup in a writable
// mount of the cgroup v2 file system.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return cgroupDir(string(mounts), string(self))
}

// cgroupDir finds the directory of the process whose /proc/PID/mountinfo and
// /proc/PID/cgroup these are.
func cgroupDir(mounts, self string) (string, error) {
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

func (c *cgroup) name() string     { return containCgroup }
func (c *cgroup) orders() []string { return []string{"-cgroup", c.dir} }

func (c *cgroup) prepare(attr *syscall.SysProcAttr) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(c.fd.Fd())
}

func (c *cgroup) kill() error { return killCgroup(c.dir) }

func (c *cgroup) remove() error {
	if c.fd == nil {
		return nil // never made
	}
	return errors.Join(c.fd.Close(), removeCgroup(c.dir))
}

// cgroupDeadline bounds the wait for killed processes to be gone. Only one
// that hangs in the kernel needs longer.
const cgroupDeadline = 10 * time.Second

// killCgroup kills every process of a cgroup and of those below it, and
// returns when none is left.
func killCgroup(dir string) error {
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
	for end := time.Now().Add(cgroupDeadline); time.Now().Before(end); {
		populated, err := isPopulated(events)
		if err != nil || !populated {
			return err
		}
		// A change of the file is POLLPRI (cgroup-v2.rst).
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

// removeCgroup removes a cgroup and those that ranks made below it.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeCgroup(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}

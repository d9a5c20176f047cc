package nscluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Freeze stops every process of a host, as if its processors had stopped: its system still
// acknowledges what it receives. Thaw lets them go on.
func (c *Cluster) Freeze(name string) { c.tb.Helper(); c.signal(name, unix.SIGSTOP) }

// Thaw lets the processes of a host go on.
func (c *Cluster) Thaw(name string) { c.tb.Helper(); c.signal(name, unix.SIGCONT) }

// signal sends a signal to every process of a host until it has no other one.
func (c *Cluster) signal(name string, sig unix.Signal) {
	c.tb.Helper()
	told := map[int]bool{}
	for again := true; again; {
		again = false
		for _, pid := range c.all(name) {
			if !told[pid] {
				told[pid], again = true, true
				_ = unix.Kill(pid, sig) // it may have ended
			}
		}
	}
}

// Processes returns the processes of a host but its first and those of sshd,
// with their numbers outside of it.
func (c *Cluster) Processes(name string) []int {
	c.tb.Helper()
	return slices.DeleteFunc(c.all(name), func(pid int) bool {
		dir := "/proc/" + strconv.Itoa(pid)
		word, err := os.ReadFile(dir + "/comm")
		comm, first := strings.TrimSpace(string(word)), c.host(name).first.pid
		return err != nil || pid == first || comm == "sleep" && parent(dir) == first || strings.HasPrefix(comm, "sshd")
	})
}

// all returns the processes of a host, with their numbers outside of it.
func (c *Cluster) all(name string) []int {
	c.tb.Helper()
	h := c.host(name)
	if h.first == nil {
		return nil
	}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", h.first.pid))
	if err != nil {
		c.tb.Fatalf("nscluster: %s: %v", name, err)
	}
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.tb.Fatal(err)
	}
	var found []int
	for _, n := range names {
		pid, err := strconv.Atoi(filepath.Base(n))
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(n + "/ns/pid"); err == nil && ns == own {
			found = append(found, pid)
		}
	}
	return found
}

// parent returns the parent of the process with a directory below /proc.
func parent(dir string) int {
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	number, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return pid
}

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

// Freeze stops every process of a host with SIGSTOP until Thaw is called. The kernel of the host
// goes on: for example, TCP still acknowledges the data that it receives.
func (c *Cluster) Freeze(name string) { c.tb.Helper(); c.signal(name, unix.SIGSTOP) }

// Thaw continues the processes of a host that Freeze has stopped.
func (c *Cluster) Thaw(name string) { c.tb.Helper(); c.signal(name, unix.SIGCONT) }

// signal sends a signal once to every process of a host. It repeats the search for processes until it finds
// no new process, because a process may fork before the signal reaches it.
func (c *Cluster) signal(name string, sig unix.Signal) {
	c.tb.Helper()
	told := map[int]bool{}
	for again := true; again; {
		again = false
		for _, pid := range c.all(name) {
			if !told[pid] {
				told[pid], again = true, true
				_ = unix.Kill(pid, sig) // the process may have ended
			}
		}
	}
}

// Processes returns the process IDs, in this machine's PID namespace, of the processes of a host. It
// leaves out the host's first process, the sleep that is its child, and the processes of sshd.
func (c *Cluster) Processes(name string) []int {
	c.tb.Helper()
	return slices.DeleteFunc(c.all(name), func(pid int) bool {
		dir := "/proc/" + strconv.Itoa(pid)
		word, err := os.ReadFile(dir + "/comm")
		comm, first := strings.TrimSpace(string(word)), c.host(name).first.pid
		return err != nil || pid == first || comm == "sleep" && parent(dir) == first || strings.HasPrefix(comm, "sshd")
	})
}

// all returns the process IDs, in this machine's PID namespace, of all processes of a host.
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

// parent returns the ID of the parent of a process, or 0 if the process has ended. dir is the directory of
// the process below /proc.
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

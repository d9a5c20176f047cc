package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// group makes a command run in a process group of its own. When the context of the command ends, the
// whole group receives SIGTERM.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// Marked returns the IDs of the running processes whose environment contains the string entry, except this
// process. entry has the form NAME=VALUE. A process group does not contain all processes of a job, because some
// launchers start ranks in sessions of their own.
func Marked(entry string) []int {
	names, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	var found []int
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), entry) {
			continue // the process has ended, or belongs to another user or job
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// kill ends a process. It does nothing if the process has ended already.
func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

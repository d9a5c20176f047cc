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

// group runs a command in a process group of its own, which gets a signal to end with it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// Marked returns the living processes with an entry in their environment, but this one.
// Some launchers put ranks into sessions of their own, so that a process group does not
// hold all processes of a job.
func Marked(entry string) []int {
	names, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	var found []int
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), entry) {
			continue // it has ended, is another user's, or another job's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// kill ends a process, which may have ended.
func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

package viewer

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// suspension is the message to stop the process group, with the screen left, until it is continued; a terminal whose
// keys are read by this process stops no group by itself. Package tea takes it for a command that has the
// terminal meanwhile, so that the view does not end before the terminal is taken back.
type suspension struct {
	signals chan<- os.Signal // which SIGTSTP goes to
}

// Run stops the group. This process stops last.
func (s suspension) Run() error {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, unix.SIGCONT)
	defer signal.Stop(resumed)
	signal.Ignore(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	<-resumed
	signal.Notify(s.signals, unix.SIGTSTP)
	return nil
}

// SetStdin is for commands that read.
func (suspension) SetStdin(io.Reader) {}

// SetStdout is for commands that write.
func (suspension) SetStdout(io.Writer) {}

// SetStderr is for commands that write errors.
func (suspension) SetStderr(io.Writer) {}

// orphaned reports whether nobody above the process group of this process is in its session (setpgid(2)): the
// kernel lets no terminal stop such a group, because no shell would continue it.
func orphaned() bool {
	group, above := unix.Getpgrp(), os.Getppid()
	for above > 0 {
		of, err := unix.Getpgid(above)
		if err != nil {
			return true
		}
		if of != group {
			break
		}
		above = parent(above)
	}
	mine, err := unix.Getsid(0)
	its, failure := unix.Getsid(above)
	return above <= 0 || err != nil || failure != nil || its != mine
}

// parent returns the parent of a process, 0 for none.
func parent(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "\nPPid:\t")
	line, _, _ = strings.Cut(line, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		return 0
	}
	return n
}

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

// suspension is the message to leave the alternate screen and stop the process group until it is continued. A
// terminal in raw mode does not stop the group by itself. The model passes the suspension to tea.Exec, which
// releases the terminal during Run and takes it back afterwards. So the view continues after the suspension.
type suspension struct {
	signals chan<- os.Signal // receives SIGTSTP again after Run
}

// Run stops the other processes of the process group first and this process last. It returns when this process
// is continued.
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

// SetStdin does nothing, because Run does not read.
func (suspension) SetStdin(io.Reader) {}

// SetStdout does nothing, because Run does not write.
func (suspension) SetStdout(io.Writer) {}

// SetStderr does nothing, because Run does not write.
func (suspension) SetStderr(io.Writer) {}

// orphaned reports whether the process group of this process is orphaned (setpgid(2)). It counts as
// orphaned if the nearest ancestor outside of the group is not in the group's session. SIGTSTP does not stop the
// processes of such a group, because no shell would continue them.
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

// parent returns the process ID of the parent of a process, or 0 if there is none.
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

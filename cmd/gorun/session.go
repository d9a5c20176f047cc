package main

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// session is the POSIX session of a command. The command's process is its leader. gorun kills the leader's process
// group through a pidfd, because the leader may have been reaped and its PID may have been reused.
type session struct {
	command *exec.Cmd
	fd      int // pidfd of the leader, set when the command starts; -1 if there is none

	// mu keeps fd open while it is used, and guards closed.
	mu     sync.Mutex
	closed bool
}

// newSession prepares a command so that its process, when it is started, leads a session of its own.
// The kernel kills the process when the thread that has started it ends.
func newSession(c *exec.Cmd) *session {
	s := &session{command: c, fd: -1}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &s.fd}
	return s
}

// kill sends SIGKILL to the process group of the leader, and to no other process. It does nothing
// after close.
func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.fd < 0 { // without a pidfd (before Linux 5.2), an agent ends by itself at the end of its input
		return
	}
	err := unix.PidfdSendSignal(s.fd, unix.SIGKILL, nil, pidfdSignalProcessGroup)
	if errors.Is(err, unix.EINVAL) && unix.PidfdSendSignal(s.fd, 0, nil, 0) == nil {
		// Linux before 6.9 does not know the flag. The call without the flag has just found the leader, which
		// was not reaped at that time. The leader's PID can now belong to another process only if the kernel
		// has assigned all other PIDs since then.
		_ = unix.Kill(-s.command.Process.Pid, unix.SIGKILL)
	}
}

// close closes the pidfd, after the command has ended.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
	s.closed = true
}

// pidfdSignalProcessGroup is PIDFD_SIGNAL_PROCESS_GROUP of pidfd_send_signal(2): the signal goes to the
// process group that the process leads, as the leader of a session does.
const pidfdSignalProcessGroup = 1 << 2

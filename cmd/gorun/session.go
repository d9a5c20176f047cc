package main

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// session is the session of a command, which its process begins. It is ended by descriptor: the
// process may have ended and been collected already, and its number be another's.
type session struct {
	command *exec.Cmd
	fd      int // of its process, set by the start

	// mu keeps fd open while it is used, and guards closed.
	mu     sync.Mutex
	closed bool
}

// newSession has a command begin a session when it is started, and end with the thread that starts
// it.
func newSession(c *exec.Cmd) *session {
	s := &session{command: c, fd: -1}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &s.fd}
	return s
}

// kill ends the session, and no other process. It does nothing after close.
func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.fd < 0 { // before Linux 5.3 there is no descriptor: the end of its input ends an agent
		return
	}
	err := unix.PidfdSendSignal(s.fd, unix.SIGKILL, nil, pidfdSignalProcessGroup)
	if errors.Is(err, unix.EINVAL) && unix.PidfdSendSignal(s.fd, 0, nil, 0) == nil {
		// A kernel before 6.9. The process has not been collected: for its number to be another's
		// now, all other numbers would have to be used since the last line.
		_ = unix.Kill(-s.command.Process.Pid, unix.SIGKILL)
	}
}

// close gives the descriptor back, after the command has ended.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
	s.closed = true
}

// pidfdSignalProcessGroup is PIDFD_SIGNAL_PROCESS_GROUP of pidfd_send_signal(2): to the group of the
// process, which is that of its session's first process.
const pidfdSignalProcessGroup = 1 << 2

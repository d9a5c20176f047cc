package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideCommand is the first argument of a gorun that is process 1 of a PID namespace (the gorun inside). The second
// argument is the scratch directory of the gorun that has made the namespace (the gorun outside).
const insideCommand = "-gorun-inside"

// Numbers of descriptors in the gorun inside.
const (
	// outsideFD is the reading end of a pipe whose writing end closes when the gorun outside ends.
	outsideFD = 3 + iota
	// wordFD is the writing end of a pipe. Each byte is a word to the gorun outside.
	wordFD
)

// Words to the gorun outside.
const (
	wordHeeds = 'h' // the gorun inside handles signals
	wordStop  = 's' // both processes are to be stopped
)

// userArgs returns the words of the user's command line after the name of gorun, also in a gorun inside.
func userArgs() []string {
	if len(os.Args) > 2 && os.Args[1] == insideCommand {
		return os.Args[3:]
	}
	return os.Args[1:]
}

// endWithOutside makes this process end when the gorun outside ends. All other processes in the namespace
// then end, too. The death signal (Pdeathsig) has the same effect. But the kernel does not send it if the gorun
// outside was killed while it started this process.
func endWithOutside() {
	syscall.CloseOnExec(outsideFD)
	syscall.CloseOnExec(wordFD)
	pipe := os.NewFile(outsideFD, "gorun outside")
	go func() {
		_, _ = pipe.Read(make([]byte, 1)) // nothing is ever written
		os.Exit(exitSignalOffset + int(unix.SIGKILL))
	}()
}

// outside is the containment of a gorun that lets another gorun in a PID namespace run the job, and of a launcher
// whose ranks all run under agents. Its methods, except name, do nothing. Containments that need no resources embed it.
type outside struct{}

func (outside) name() string                 { return containNamespace }
func (outside) make() error                  { return nil }
func (outside) prepare(*syscall.SysProcAttr) {}
func (outside) kill() error                  { return nil }
func (outside) remove() error                { return nil }
func (outside) orders() []string             { return nil }

// namespace is the containment of a gorun that is process 1 of a PID namespace.
type namespace struct{ outside }

// kill kills every process of the namespace except the caller. For kill(2), process ID -1 means all processes
// in the namespace of the caller.
func (namespace) kill() error {
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill the namespace: %w", err)
	}
	return nil
}

// heeds tells the gorun outside, if there is one, that this process handles signals.
func (n *node) heeds() {
	if _, inside := n.contain.(namespace); inside {
		_, _ = unix.Write(wordFD, []byte{wordHeeds})
	}
}

// stop stops this process with SIGSTOP. The kernel does not let process 1 of a namespace stop itself. Therefore the
// gorun outside stops it.
func (n *node) stop() {
	if _, inside := n.contain.(namespace); inside {
		_, _ = unix.Write(wordFD, []byte{wordStop})
		return
	}
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
}

// shownPID returns the ID that a child process has in the PID namespace of /proc, which is that of the gorun
// outside. If the ID cannot be found, shownPID returns pid.
func (namespace) shownPID(pid int) int {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return pid
	}
	defer func() { _ = unix.Close(fd) }()
	text, _ := procField(fmt.Sprintf("/proc/self/fdinfo/%d", fd), "Pid") // "" after an error
	if shown, err := strconv.Atoi(text); err == nil && shown > 0 {
		return shown
	}
	return pid
}

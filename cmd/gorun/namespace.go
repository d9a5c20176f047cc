package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	goruntime "runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideCommand is the first argument of a gorun that is process 1 of a PID
// namespace. The second argument is the scratch directory of the gorun outside.
const insideCommand = "-gorun-inside"

// outsideFD is a descriptor in the gorun inside: the reading end of a pipe whose writing end closes when
// the gorun outside ends.
const outsideFD = 3

// endWithOutside makes this process end when the gorun outside ends. All other processes in the namespace
// then end, too. The death signal (Pdeathsig) has the same effect. But the kernel does not send it if the gorun
// outside was killed while it started this process.
func endWithOutside() {
	syscall.CloseOnExec(outsideFD)
	pipe := os.NewFile(outsideFD, "gorun outside")
	go func() {
		_, _ = pipe.Read(make([]byte, 1)) // nothing is ever written
		os.Exit(exitSignalOffset + int(unix.SIGKILL))
	}()
}

// outside is the containment of a gorun that lets another gorun in a PID namespace run the job. Its methods
// do nothing. Containments that need no resources embed it.
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

// relaunch runs the job in another gorun, in a new PID namespace, and returns the exit
// code of that gorun. If the exit code is 0 and there is an error, nothing was started.
func relaunch(args []string, scratch string) (int, error) {
	// The other gorun gets its death signal when this thread ends.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	sigs := catchSignals()
	defer signal.Stop(sigs)
	// The other gorun gets a process group of its own, so that a signal from the terminal does not reach it
	// twice. If the group of this process is in the foreground, the new group takes the foreground, so that the
	// other gorun may read from the terminal.
	sys := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if isTerminal(0) && inForeground(0) {
		sys.Foreground, sys.Ctty = true, 0
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		sys.Cloneflags |= syscall.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	ends, alive, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = alive.Close() }()
	argv := append([]string{"gorun", insideCommand, scratch}, args...)
	pid, err := syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, ends.Fd()}, Sys: sys,
	})
	_ = ends.Close()
	if err != nil {
		return 0, fmt.Errorf("start in a PID namespace: %w", err)
	}
	go func() {
		for sig := range sigs {
			if s, ok := sig.(syscall.Signal); ok && s != unix.SIGPIPE {
				_ = unix.Kill(pid, s)
			}
		}
	}()
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return exitLauncher, fmt.Errorf("wait for the job: %w", err)
	}
	if status.Signaled() {
		complain("the job's own gorun was killed by %s", signalName(status.Signal()))
		return exitSignalOffset + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

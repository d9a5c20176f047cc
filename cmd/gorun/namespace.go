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
// namespace. The second is the scratch directory of the one outside.
const insideCommand = "-gorun-inside"

// outsideFD is the descriptor, in the gorun inside, of a pipe that ends with the gorun
// outside.
const outsideFD = 3

// endWithOutside ends this process, and with it everything in its namespace, when the gorun
// outside ends. The death signal does that, too, unless the gorun outside was killed while
// it started this process.
func endWithOutside() {
	syscall.CloseOnExec(outsideFD)
	pipe := os.NewFile(outsideFD, "gorun outside")
	go func() {
		_, _ = pipe.Read(make([]byte, 1)) // nothing is ever written
		os.Exit(exitSignalOffset + int(unix.SIGKILL))
	}()
}

// outside is the containment of a gorun that leaves the job to another one,
// in a PID namespace. Those that need nothing beforehand embed it.
type outside struct{}

func (outside) name() string                 { return containNamespace }
func (outside) make() error                  { return nil }
func (outside) prepare(*syscall.SysProcAttr) {}
func (outside) kill() error                  { return nil }
func (outside) remove() error                { return nil }
func (outside) orders() []string             { return nil }

// namespace is the containment of process 1 of a PID namespace.
type namespace struct{ outside }

// kill reaches every process but the caller: -1 stays within the namespace.
func (namespace) kill() error {
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill the namespace: %w", err)
	}
	return nil
}

// relaunch runs the job in a gorun of its own PID namespace and returns its
// exit code. An error means that nothing was started.
func relaunch(args []string, scratch string) (int, error) {
	// The death signal of the other gorun is tied to this thread.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	sigs := catchSignals()
	defer signal.Stop(sigs)
	// A group of its own, so that a signal from the terminal does not
	// arrive twice; in the foreground if this one is, so that it may read.
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

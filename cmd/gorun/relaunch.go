package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	goruntime "runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// inner is what this process (the gorun outside) knows of the gorun that it has started in a new PID namespace (the
// gorun inside).
type inner struct {
	pid   int // also the ID of its process group
	alive *os.File
	words *os.File // the reading end of the pipe of wordFD
	ended atomic.Bool
	heeds atomic.Bool  // it handles signals
	sig   atomic.Int32 // the signal for which it was killed before it handled signals, 0 for none
}

// relaunch runs the job in another gorun, in a new PID namespace, and returns the exit
// code of that gorun. If the exit code is 0 and there is an error, nothing was started.
func relaunch(args []string, scratch string) (int, error) {
	// The other gorun gets its death signal when this thread ends.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	sigs := catchSignals()
	defer signal.Stop(sigs)
	in, err := startInner(args, scratch)
	if err != nil {
		return 0, err
	}
	defer in.close()
	go in.passAll(sigs)
	go in.heedWords()
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(in.pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	in.ended.Store(true)
	if err != nil {
		return exitLauncher, fmt.Errorf("wait for the job: %w", err)
	}
	if s := in.sig.Load(); s != 0 && status.Signaled() {
		err := (&interruptError{syscall.Signal(s)}).beforeStart()
		return exitCode(err), err
	}
	if status.Signaled() {
		complain("the gorun that ran the job was killed by %s", signalName(status.Signal()))
		return exitSignalOffset + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// startInner starts the gorun inside.
func startInner(args []string, scratch string) (*inner, error) {
	// The other gorun gets a process group of its own, so that a signal from the terminal does not reach it
	// twice. If the group of this process is in the foreground, the new group takes the foreground, so that the
	// other gorun may read from the terminal.
	sys := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if isTerminal(0) && inForeground() {
		sys.Foreground, sys.Ctty = true, 0
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		sys.Cloneflags |= syscall.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	ends, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in := &inner{alive: alive}
	words, word, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, ends.Close(), alive.Close())
	}
	in.words = words
	argv := append([]string{"gorun", insideCommand, scratch}, args...)
	in.pid, err = syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, ends.Fd(), word.Fd()}, Sys: sys,
	})
	_, _ = ends.Close(), word.Close()
	if err != nil {
		in.close()
		return nil, fmt.Errorf("start in a PID namespace: %w", err)
	}
	return in, nil
}

// close closes the pipes and takes back the foreground, after the gorun inside has ended.
func (in *inner) close() {
	_, _ = in.alive.Close(), in.words.Close()
	in.leaveForeground()
}

// passAll passes signals, except SIGPIPE, on to the gorun inside. If the gorun inside does not handle signals yet,
// passAll kills it at a SIGINT, SIGTERM or SIGHUP, and passes no other signal on, because process 1 of a PID
// namespace gets no signal for which it has no handler, except SIGKILL and SIGSTOP (pid_namespaces(7)).
func (in *inner) passAll(sigs <-chan os.Signal) {
	for sig := range sigs {
		s, ok := sig.(syscall.Signal)
		switch {
		case !ok || s == unix.SIGPIPE:
		case in.heeds.Load():
			_ = unix.Kill(in.pid, s)
		case s == unix.SIGINT || s == unix.SIGTERM || s == unix.SIGHUP:
			in.sig.Store(int32(s))
			_ = unix.Kill(in.pid, unix.SIGKILL)
		}
	}
}

// heedWords reads the words of the gorun inside. It stops both processes whenever the gorun inside asks for it, as a
// shell expects after Ctrl-Z. When SIGCONT continues this process, passAll passes the signal on, which continues the
// gorun inside.
func (in *inner) heedWords() {
	goruntime.LockOSThread()
	for word := make([]byte, 1); ; {
		if n, err := in.words.Read(word); n == 0 || err != nil || in.ended.Load() {
			return
		}
		if word[0] == wordHeeds {
			in.heeds.Store(true)
			continue
		}
		_ = unix.Kill(in.pid, unix.SIGSTOP)
		in.leaveForeground()
		// A signal to the calling thread stops the process before the call returns. A signal to the process may
		// stop it later.
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
		if isTerminal(0) && inForeground() { // the shell has put the job in the foreground
			_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, in.pid)
		}
	}
}

// leaveForeground puts the process group of this process in the foreground of the terminal, if the group of the
// gorun inside is there. Without that, the next command of a script could not read from the terminal.
func (in *inner) leaveForeground() {
	if group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err != nil || group != in.pid || group == 0 {
		return
	}
	signal.Ignore(unix.SIGTTOU) // otherwise, it would stop this process, which is in the background
	defer signal.Reset(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
}

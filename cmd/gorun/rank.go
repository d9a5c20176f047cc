package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rank is what gorun knows of one rank. The fields up to started are set
// before supervision begins; the rest belongs to the supervising goroutine.
type rank struct {
	number  int
	app     *app
	path    string // of the executable
	cpus    []int  // processors it may use
	pid     int
	conn    *os.File      // gorun's end of the bootstrap socket
	served  chan struct{} // closed when the socket has been read to its end
	started time.Time

	ended  time.Time // zero while it runs
	status syscall.WaitStatus
	usage  unix.Rusage
	clean  bool // ended as a rank should
}

// running reports whether the rank has not been reaped.
func (r *rank) running() bool { return r.pid > 0 && r.ended.IsZero() }

// signal sends a signal to the rank's process group.
func (r *rank) signal(sig syscall.Signal) {
	if r.running() {
		// A group that is gone already is what was wanted.
		_ = syscall.Kill(-r.pid, sig)
	}
}

// code returns the exit code of a rank as a shell would show it.
func (r *rank) code() int {
	if r.status.Signaled() {
		return exitSignalOffset + int(r.status.Signal())
	}
	return r.status.ExitStatus()
}

// how says in words how the rank ended.
func (r *rank) how() string {
	switch {
	case r.status.Signaled() && r.status.CoreDump():
		return fmt.Sprintf("was killed by %s, core dumped", signalName(r.status.Signal()))
	case r.status.Signaled():
		return "was killed by " + signalName(r.status.Signal())
	case r.status.ExitStatus() == 0 && !r.clean:
		return "exited with code 0 without leaving the job (runtime.Main or World.Close does that)"
	default:
		return fmt.Sprintf("exited with code %d", r.status.ExitStatus())
	}
}

// signalName returns, for example, "SIGSEGV (signal 11, segmentation fault)".
func signalName(sig syscall.Signal) string {
	name := unix.SignalName(sig)
	if name == "" {
		return fmt.Sprintf("signal %d", int(sig))
	}
	return fmt.Sprintf("%s (signal %d, %s)", name, int(sig), sig)
}

package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// rank is the state of one rank in gorun. The fields down to started are set before supervision begins, and again
// when the rank is started again. While the launcher supervises the job, only its supervising goroutine uses the
// fields below started. In an agent, agent.mu guards those that change when the rank ends.
type rank struct {
	number  int
	local   int // number among the ranks of its node
	app     *app
	host    string            // name of the machine it runs on, for messages
	remote  *host             // the host whose agent has started it, nil if this process has
	path    string            // path of the executable
	cpus    []int             // processors it may use
	place   placement.Binding // where it is bound, if this process starts it
	pid     int               // process ID in the PID namespace of /proc
	child   int               // process ID in the PID namespace of this process, if this process has started it
	conn    *os.File          // gorun's end of the bootstrap socket, nil for a remote rank
	served  chan struct{}     // closed when all frames of the rank have been read
	streams [2]*source        // output of a remote rank
	started time.Time
	// record is a mapping that contains, at the offset recordAt, the memory of the rank's flight recorder. It
	// is nil for a remote rank. former is a copy of the record of the earlier generation (see mapRecord).
	record   []byte
	recordAt int
	former   []byte

	ended  time.Time // zero while it runs
	last   []string  // its last operations, if a signal has ended it
	status syscall.WaitStatus
	usage  unix.Rusage
	clean  bool             // it exited with code 0, and had left the job or never joined it
	absent bool             // it is clean and never joined the job, and gorun had not asked it to end
	doing  *bootstrap.Doing // its last report of blocked operations, nil if there is none
	epoch  int              // how often it was started before
	before []incarnation    // its earlier processes, each of which another one has replaced
	// stillborn is how many consecutive processes of the rank have ended before they joined the job.
	stillborn int
	cold      bool             // its next process must not be a spare
	joined    bool             // its process has joined the job, in any generation
	starting  bool             // its agent was told to start it again and has not answered
	held      []heldPipe       // its output pipes, before present
	warm      bool             // its process was a spare; never set for a remote rank
	promised  bool             // its agent is expected to have a spare for it
	handled   bool             // the program has recovered from its loss
	asked     int              // number of the last question that it was asked, such as what it waits for
	answered  int              // number of the last question that it has answered
	lost      string           // the reason if the rank was lost with its host, else ""
	said      *bootstrap.Event // the error that it reported before its end, nil for none
}

// running returns true if the rank has a process, or its agent was told to start one, and the rank has neither been
// reaped nor lost with its host.
func (r *rank) running() bool { return (r.pid > 0 || r.starting) && r.ended.IsZero() }

// drained reports whether all frames of the rank have been read.
func (r *rank) drained() bool {
	select {
	case <-r.served:
		return true
	default:
		return false
	}
}

// signal sends a signal to the rank's process group.
func (r *rank) signal(sig syscall.Signal) {
	switch {
	case !r.running():
	case r.remote != nil:
		r.remote.signal(r.number, sig)
	default:
		// kill(2) fails if the process group has ended already.
		_ = syscall.Kill(-r.child, sig)
	}
}

// where names the host of a remote rank, for use in a list.
func (r *rank) where() string {
	if r.remote == nil {
		return ""
	}
	return "host " + r.host + ", "
}

// code returns the exit code of a rank as a shell would report it, or exitLauncher if the rank was lost with its host.
func (r *rank) code() int {
	if r.lost != "" {
		return exitLauncher
	}
	if r.status.Signaled() {
		return exitSignalOffset + int(r.status.Signal())
	}
	return r.status.ExitStatus()
}

// how describes how the rank ended.
func (r *rank) how() string {
	switch {
	case r.lost != "":
		return "was lost with its host: " + r.lost
	case r.status.Signaled() && r.status.CoreDump():
		return fmt.Sprintf("was killed by %s, core dumped", signalName(r.status.Signal()))
	case r.status.Signaled():
		return "was killed by " + signalName(r.status.Signal())
	case r.status.ExitStatus() == 0 && !r.clean:
		return "exited with code 0 without leaving the job (return from the function given to runtime.Main, " +
			"or call World.Close, before os.Exit or the end of main)"
	case r.absent:
		return "exited with code 0 without joining the job"
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

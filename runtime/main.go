package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/monitor"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Exit codes of Main.
const (
	exitError = 1
	exitPanic = 2 // the exit code of Go after a panic
)

// Main joins the job, runs fn, leaves the job and ends the process with exit code 0. If there is an
// error, Main prints it and ends the process with exit code 1. A panic in fn prints its stack and
// ends the job with exit code 2. With gorun -on-failure continue, a panic or an error ends only
// this rank. With -on-failure respawn, a rank that panics is started again. Main does not return.
func Main(fn func(*World) error) {
	w, session, err := initialize()
	if err == nil {
		returned := false
		defer func() {
			if !returned {
				w.panicked(recover())
			}
		}()
		err = fn(w)
		returned = true
		if err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		failed(session, err)
		os.Exit(exitError)
	}
	os.Exit(0)
}

// failed reports the error with which a rank ends. It sends the error to the agent. gorun prints
// equal errors of several ranks once. If the session is nil, or if no agent gets the error, failed
// prints the error on standard error. failed does not report a CheckError that World.findings has
// already reported.
func failed(session *bootstrap.Session, err error) {
	if session == nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if found, ok := errors.AsType[*CheckError](err); ok && found.told && err.Error() == found.Error() {
		return
	}
	rank := session.Job().Rank
	origin := rank
	if b, ok := errors.AsType[originator](err); ok {
		if o := b.FailureOrigin(); o >= 0 && o < session.Job().Size {
			origin = o
		}
	}
	lost := -1
	if peer, ok := errors.AsType[*PeerError](err); ok && peer.Rank >= 0 && peer.Rank < session.Job().Size {
		lost = peer.Rank // the launcher may learn of this loss after the end of this rank
	}
	if session.Fail(origin, lost, err.Error()) != nil {
		fmt.Fprintf(os.Stderr, "rank %d: %v\n", rank, err)
	}
}

// originator is implemented by errors that name the world rank whose failure caused them:
// BrokenError, and the MismatchError of package collectives.
type originator interface {
	error
	FailureOrigin() int
}

// panicked ends the process after a panic with the value v; nil means that the goroutine ended
// without a panic. If the job has neither -on-failure continue nor respawn, panicked also ends the
// job.
func (w *World) panicked(v any) {
	if v == nil {
		v = errGoexit
	}
	fmt.Fprintf(os.Stderr, "rank %d: panic: %v\n\n%s", w.Rank(), v, panicStack())
	if w.job.OnFailure == bootstrap.OnFailureContinue || w.job.OnFailure == bootstrap.OnFailureRespawn {
		os.Exit(exitPanic)
	}
	w.abort(exitPanic, fmt.Sprintf("panic: %v", v), nil)
}

// panicStack returns the stack of the calling goroutine, which is recovering from a panic. It leaves
// out the frames of the recovery, so that the first frame is the frame that panicked. If the goroutine
// ends without a panic, it returns the whole stack.
func panicStack() []byte {
	stack := debug.Stack()
	head, frames, _ := bytes.Cut(stack, []byte("\n"))
	// Each frame is two lines. The frame of panic itself is the last one before the frames of the
	// program.
	_, after, found := bytes.Cut(frames, []byte("\npanic("))
	if _, rest, ok := bytes.Cut(after, []byte("\n\t")); found && ok {
		if _, program, ok := bytes.Cut(rest, []byte("\n")); ok {
			return slices.Concat(head, []byte("\n"), program)
		}
	}
	return stack
}

// joined reports whether this process has tried to join its job. A process can try only once.
var joined atomic.Bool

// Init joins the job and returns its World, which the caller closes with World.Close. If neither gorun
// nor another launcher, such as mpiexec, has started the process, the World has one rank. A process can
// join only once.
func Init() (*World, error) {
	w, _, err := initialize()
	return w, err
}

// initialize is Init, and also returns the session. If bootstrap.Join has succeeded, the session is
// not nil, even if initialize returns an error.
func initialize() (*World, *bootstrap.Session, error) {
	if joined.Swap(true) {
		return nil, nil, errors.New("runtime: this process has joined its job already: call Main or Init once")
	}
	session, err := bootstrap.Join()
	if err != nil {
		return nil, nil, err
	}
	if session.Memory() == nil {
		warnOfForeign()
	} else {
		monitor.Defer()
	}
	w, err := begin(session, nil)
	return w, session, err
}

// begin makes the first World of a process. life is the localProcess of a rank of LocalRespawn.
// life is nil for a rank that is a process of its own.
func begin(session *bootstrap.Session, life *localProcess) (*World, error) {
	role := Initial
	if session.Job().Epoch > 0 {
		role = Recovered
	}
	var left []*World
	w, err := enter(session, role, life)
	for errors.Is(err, bootstrap.ErrRenewed) { // a rank was lost before all ranks had joined
		left = append(left, w)
		if role == Initial {
			role = Survivor
		}
		w = nil
		if err = session.Renew(); err == nil {
			w, err = enter(session, role, life)
		}
	}
	if err == nil {
		discard(left)
	}
	return w, err
}

// enter makes the World for the generation of the job that the session is in. If World.meet fails, enter abandons the
// World. The error is bootstrap.ErrRenewed if the generation ends before all ranks have joined it. In this case enter
// also returns the World, so that discard can later give back its node memory.
func enter(session *bootstrap.Session, role Role, life *localProcess) (*World, error) {
	job := session.Job()
	around, err := life.surroundings(session)
	if err != nil {
		return nil, err
	}
	finishHeap := prepareHeap(job, role, life)
	// Join the node before the exchange of cards, so that every rank has joined its node when the
	// book is complete.
	w, err := newWorld(job, around.node, job.Peers, around.wait, session.Secret(), around.local)
	if err != nil {
		return nil, err
	}
	w.session, w.council, w.role, w.line, w.life = session, session, role, &lineage{}, life
	if life != nil {
		life.entered(w)
	}
	if job.Size == 1 {
		w.council = newLocalCouncil([]*World{w}, nil, func(int) bool { return false }).of(w.Rank())
	}
	err = w.meet(session)
	finishHeap()
	if err != nil {
		left := w.abandon()
		if !errors.Is(err, bootstrap.ErrRenewed) {
			return nil, err
		}
		if left != nil {
			return nil, left
		}
		return w, err
	}
	w.listen()
	return w, nil
}

// warnOfForeign prints a warning if another launcher than gorun has started several processes, each
// of which is a world of one rank. Only one of these processes prints the warning.
func warnOfForeign() {
	if f, found := bootstrap.FindForeign(os.Getenv); found && f.Rank == 0 {
		fmt.Fprintf(os.Stderr, "gorun: %s started %d processes of this program, which do not join each other: each is a world of one rank; %s\n",
			f.Launcher, f.Size, f.Remedy())
	}
}

// openNode maps the node memory. If the session has no node memory, the rank gets a node of its own.
func openNode(session *bootstrap.Session) (*shm.Node, error) {
	memory := session.Memory()
	if memory == nil {
		return shm.NewLocalNode(1)
	}
	job := session.Job()
	node, err := shm.OpenNode(int(memory.Fd()), job.LocalSize, job.NodeRange)
	if err != nil {
		return nil, err
	}
	return node, memory.Close()
}

package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

const (
	// reportsMax is the largest number of reports that a rank logs in a period of reportsTime.
	reportsMax  = 10
	reportsTime = time.Second
	// framesMax is the largest number of source lines of the program in the report of a failure.
	framesMax = 6
)

// reports counts the recent reports of a rank, to limit their rate. One mistake can cause many dead
// letters, but the first log lines are enough to find it.
type reports struct {
	// mu guards the fields below it.
	mu    sync.Mutex
	since time.Time // the start of the present period
	total int       // the number of reports in the period
}

// next counts a report. ok is false if the report exceeds the limit and must not be logged. For the
// last report within the limit, more is a note that the caller appends to the log line. For all other
// reports, more is nil.
func (r *reports) next(now time.Time) (more []any, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= reportsTime {
		r.since, r.total = now, 0
	}
	if r.total++; r.total == reportsMax {
		more = []any{"note", fmt.Sprintf("further reports within %v are not logged", reportsTime)}
	}
	return more, r.total <= reportsMax
}

// reportLetter logs a dead letter. A dead letter to an actor or a rank that has ended has a lower level,
// because such messages are normal at the end of a program.
func (s *System) reportLetter(d *DeadLetter) {
	ended := errors.Is(d.Reason, ErrStopped) || errors.Is(d.Reason, runtime.ErrClosed) || errors.Is(d.Reason, runtime.ErrAborted)
	if _, lost := errors.AsType[*runtime.PeerError](d.Reason); ended || lost {
		s.cfg.Logger.Info(d.Error(), "rank", s.Rank())
		return
	}
	if more, ok := s.reports.next(time.Now()); ok {
		s.cfg.Logger.Warn(d.Error(), append([]any{"rank", s.Rank(), "sender", name(d.Sender)}, more...)...)
	}
}

// reportFailure logs the panic or Goexit of an actor, with the type of the message and the source lines. It
// must be called by the deferred function that recovers the panic. reportFailure is needed because
// the supervisor gets only the reason, and usually restarts the actor without a log line.
func (s *System) reportFailure(pid *actor.PID, message, reason any) {
	if more, ok := s.reports.next(time.Now()); ok {
		m := actor.UnwrapEnvelopeMessage(message)
		s.cfg.Logger.Error(fmt.Sprintf("actor %s failed handling %T: %v", name(pid), m, reason),
			append([]any{"rank", s.Rank(), "at", panicked()}, more...)...)
	}
}

// panicked returns the source lines of the program that led to the panic or to the call of runtime.Goexit,
// innermost first, at most framesMax lines. Lines of protoactor and of Go's runtime are left out. It is called,
// through reportFailure, by the deferred function that recovers the panic.
func panicked() string {
	stack := make([]uintptr, 64)
	frames := goruntime.CallersFrames(stack[:goruntime.Callers(2, stack)])
	var lines []string
	raised := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			if f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit" {
				raised, lines = true, nil
			}
		case strings.HasSuffix(f.Function, "(*mailbox).turn"):
			more = false
		case raised && len(lines) < framesMax && !strings.HasPrefix(f.Function, protoactorPath):
			lines = append(lines, fmt.Sprintf("%s:%d (%s)", filepath.Base(f.File), f.Line, filepath.Base(f.Function)))
		}
		if !more {
			return strings.Join(lines, " < ")
		}
	}
}

// protoactorPath is the prefix of the names of protoactor's functions.
const protoactorPath = "github.com/asynkron/protoactor-go/"

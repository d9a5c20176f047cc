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
	// reportsMax is how many reports a rank logs in reportsTime.
	reportsMax  = 10
	reportsTime = time.Second
	// framesMax is how many lines of the program the report of a failure names.
	framesMax = 6
)

// reports counts the recent log lines of a rank. One mistake can lose many messages, and the
// first lines are enough.
type reports struct {
	// mu guards the fields below it.
	mu    sync.Mutex
	since time.Time
	total int
}

// next counts a report. It returns false if there were too many, and a text that the last one
// adds.
func (r *reports) next(now time.Time) (more []any, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= reportsTime {
		r.since, r.total = now, 0
	}
	if r.total++; r.total == reportsMax {
		more = []any{"note", fmt.Sprintf("what follows within %v is not logged", reportsTime)}
	}
	return more, r.total <= reportsMax
}

// reportLetter logs a dead letter. One to an actor or a rank that has ended gets a lower level:
// programs leave such messages when they end.
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

// reportFailure logs the panic of an actor, with the message and the source lines. The caller is
// a deferred function. The supervisor gets the reason only, and mostly restarts the actor
// without a log line.
func (s *System) reportFailure(pid *actor.PID, message, reason any) {
	if more, ok := s.reports.next(time.Now()); ok {
		m := actor.UnwrapEnvelopeMessage(message)
		s.cfg.Logger.Error(fmt.Sprintf("actor %s failed handling %T: %v", name(pid), m, reason),
			append([]any{"rank", s.Rank(), "at", panicked()}, more...)...)
	}
}

// panicked returns the lines that led to the panic whose deferred function called,
// innermost first, down to the actor's mailbox.
func panicked() string {
	stack := make([]uintptr, 64)
	frames := goruntime.CallersFrames(stack[:goruntime.Callers(2, stack)])
	var lines []string
	raised := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			if f.Function == "runtime.gopanic" {
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

// protoactorPath begins the names of protoactor's functions.
const protoactorPath = "github.com/asynkron/protoactor-go/"

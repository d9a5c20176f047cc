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

// reports is what a rank has logged lately. A mistake loses many messages:
// the first ones say all.
type reports struct {
	// mu guards the fields below it.
	mu    sync.Mutex
	since time.Time
	total int
}

// next counts a report. It returns false if there were too many, and what the last
// one is to add.
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

// reportLetter logs a dead letter. One for an actor or a rank that has ended, as
// programs leave them when they end, is of less interest than those of mistakes.
func (s *System) reportLetter(d *DeadLetter) {
	var lost *runtime.PeerError
	ended := errors.Is(d.Reason, ErrStopped) || errors.Is(d.Reason, runtime.ErrClosed) || errors.Is(d.Reason, runtime.ErrAborted)
	if ended || errors.As(d.Reason, &lost) {
		s.cfg.Logger.Info(d.Error(), "rank", s.Rank())
		return
	}
	if more, ok := s.reports.next(time.Now()); ok {
		s.cfg.Logger.Warn(d.Error(), append([]any{"rank", s.Rank(), "sender", name(d.Sender)}, more...)...)
	}
}

// reportFailure logs the panic of an actor at a message, and where it was. It is
// called by a function that the panic deferred: its supervisor hears of the reason
// alone, and mostly makes a new one without a word.
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

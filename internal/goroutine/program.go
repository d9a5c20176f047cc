package goroutine

import (
	"slices"
	"strings"
)

// AllIn reports whether the goroutines of the program are all in one of several functions, in
// which exactly n goroutines are, or wait for ever, in sync.WaitGroup.Wait, which others of
// them end, or for an actor: its answer, or room in its mailbox. text is that of goruntime.Stack for all goroutines, the caller's included.
// Goroutines of gorun, of protoactor and of the handling of signals are no goroutines of the
// program, unless they call it or carry out an operation of package collectives.
//
// A goroutine that sleeps, computes, reads or waits for a lock or a channel may go on, so that
// the answer is no; it is no, too, if the text is not understood. A function of time.AfterFunc
// that has not run yet is not in the text: see Timers.
func AllIn(text string, n int, functions ...string) bool {
	all, ok := Parse(text)
	if !ok {
		return false
	}
	in := 0
	for _, s := range all {
		switch {
		case s.Creator == actorServers && s.serves(): // it waits for messages to actors
		case slices.ContainsFunc(functions, func(f string) bool { return slices.Contains(s.Functions, f) }):
			in++
		case slices.Contains(passive, s.State), s.awaitsActor(), s.serves():
		default:
			return false
		}
	}
	return in == n
}

// passive are the States of goroutines that no channel, timer or event wakes (Go 1.25,
// waitReasonStrings in src/runtime/runtime2.go).
var passive = []string{"sync.WaitGroup.Wait", "select (no cases)", "chan receive (nil chan)", "chan send (nil chan)"}

// actorServers starts the goroutines that take the messages to actors.
const actorServers = "github.com/gorun-hpc/gorun/runtime/actors.(*servers).start"

// awaitsActor reports whether the goroutine waits, without a time of its own, for an answer of an actor or for room in
// the mailbox of one of this rank.
func (s *Stack) awaitsActor() bool {
	return s.State == "sync.Cond.Wait" && slices.ContainsFunc(s.Functions, func(f string) bool {
		return f == "github.com/asynkron/protoactor-go/actor.(*Future).wait" || f == "github.com/gorun-hpc/gorun/runtime/actors.(*mailbox).postFull"
	})
}

// runsActor reports whether the goroutine runs an actor, whose handler it is about to call if it is not in it.
func (s *Stack) runsActor() bool {
	return slices.ContainsFunc(s.Functions, func(f string) bool {
		return f == "github.com/gorun-hpc/gorun/runtime/actors.(*workers).turn" || f == "github.com/gorun-hpc/gorun/runtime/actors.(*mailbox).run" ||
			strings.HasPrefix(f, "github.com/asynkron/protoactor-go/actor.(*defaultMailbox).")
	})
}

// serves reports whether the goroutine was started by gorun, protoactor or the standard
// library's handling of signals, or is a goroutine of theirs, and calls no one else and runs no actor.
func (s *Stack) serves() bool {
	if !isServant(s.Creator) || s.runsActor() {
		return false
	}
	for _, f := range s.Functions {
		if !isServant(f) && !isStandard(f) {
			return false
		}
	}
	return true
}

// servants begin the names of functions that work for the program without calling it. Those of
// package collectives are not among them: a goroutine there is at an operation that the program
// has started, and sends messages when it has computed.
var servants = []string{
	"github.com/gorun-hpc/gorun/runtime.", "github.com/gorun-hpc/gorun/runtime/",
	"github.com/gorun-hpc/gorun/transport.", "github.com/gorun-hpc/gorun/transport/",
	"github.com/gorun-hpc/gorun/bootstrap.", "github.com/gorun-hpc/gorun/bootstrap/",
	"github.com/gorun-hpc/gorun/internal/", "github.com/asynkron/protoactor-go/actor.",
	"os/signal.", "runtime.",
}

// isServant reports whether a function is one of the servants. Those of tests are a program's.
func isServant(function string) bool {
	return !strings.Contains(function, "_test.") && slices.ContainsFunc(servants, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// Acts reports whether one of the functions of Timers may send something for the program, or end one of its waits.
func Acts(functions []string) bool {
	return slices.ContainsFunc(functions, func(f string) bool {
		return !slices.ContainsFunc(chores, func(prefix string) bool { return strings.HasPrefix(f, prefix) })
	})
}

// chores begin the names of functions that gorun's own timers call, and that do no more for the program than goroutines
// of gorun: they connect ranks, look whether operations of members differ, and send what is being sent, which the engine
// knows.
var chores = []string{
	"github.com/gorun-hpc/gorun/transport/", "github.com/gorun-hpc/gorun/bootstrap.",
	"github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).batchesDue", "github.com/gorun-hpc/gorun/collectives.(*watch).",
	"github.com/gorun-hpc/gorun/runtime/actors.(*workers).", "github.com/gorun-hpc/gorun/runtime/actors.(*System).look",
}

// standard are the packages, of the standard library but for the last two, that goroutines of servants are in while
// they wait. A program's own package may have a name without a dot; it is none of these.
var standard = []string{
	"internal/", "runtime.", "runtime/", "sync.", "sync/", "time.", "context.", "os.", "os/", "io.", "bufio.", "net.", "net/netip.",
	"syscall.", "crypto/", "golang.org/x/sys/", "github.com/klauspost/compress/",
}

func isStandard(function string) bool {
	return slices.ContainsFunc(standard, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

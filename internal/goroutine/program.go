package goroutine

import (
	"slices"
	"strings"
)

// AllIn reports whether the goroutines of the program are all in one of several functions, in
// which exactly n goroutines are, or wait for ever or in sync.WaitGroup.Wait, which others of
// them end. text is that of goruntime.Stack for all goroutines, the caller's included.
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
		case slices.ContainsFunc(functions, func(f string) bool { return slices.Contains(s.Functions, f) }):
			in++
		case slices.Contains(passive, s.State), s.serves():
		default:
			return false
		}
	}
	return in == n
}

// passive are the States of goroutines that no channel, timer or event wakes (Go 1.25,
// waitReasonStrings in src/runtime/runtime2.go).
var passive = []string{"sync.WaitGroup.Wait", "select (no cases)", "chan receive (nil chan)", "chan send (nil chan)"}

// serves reports whether the goroutine was started by gorun, protoactor or the standard
// library's handling of signals, or is a goroutine of theirs, and calls no one else.
func (s *Stack) serves() bool {
	if !isServant(s.Creator) {
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

func isServant(function string) bool {
	return slices.ContainsFunc(servants, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
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

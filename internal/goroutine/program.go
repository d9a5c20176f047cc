package goroutine

import (
	"slices"
	"strings"
)

// AllIn reports whether two conditions hold: exactly n goroutines are in one of the given functions, and every
// other goroutine of the program
//   - waits for ever,
//   - is in sync.WaitGroup.Wait, which returns only when other goroutines of the program have called Done, or
//   - waits for an actor: for its answer, or for room in its mailbox.
//
// text is the text of goruntime.Stack for all goroutines, including the caller's. Goroutines of gorun, of
// protoactor and of the handling of signals belong to the program only while they call the program or carry
// out an operation of package collectives.
//
// AllIn returns false if a goroutine of the program sleeps, computes, reads, or waits for a lock or a channel.
// Such a goroutine may continue. AllIn also returns false if it cannot parse the text. A function of
// time.AfterFunc that has not run yet is not in the text. Timers returns such functions.
func AllIn(text string, n int, functions ...string) bool {
	all, ok := Parse(text)
	if !ok {
		return false
	}
	in := 0
	for _, s := range all {
		switch {
		case s.Creator == actorServers && s.serves(): // the goroutine waits for messages to actors, and does not count
		case slices.ContainsFunc(functions, func(f string) bool { return slices.Contains(s.Functions, f) }):
			in++
		case slices.Contains(passive, s.State), s.awaitsActor(), s.serves():
		default:
			return false
		}
	}
	return in == n
}

// passive lists the values of Stack.State of goroutines that no channel, timer or event wakes (Go 1.25,
// waitReasonStrings in src/runtime/runtime2.go).
var passive = []string{"sync.WaitGroup.Wait", "select (no cases)", "chan receive (nil chan)", "chan send (nil chan)"}

// actorServers is the function that starts the goroutines that receive the messages to actors.
const actorServers = "github.com/gorun-hpc/gorun/runtime/actors.(*servers).start"

// awaitsActor reports whether the goroutine waits, without a timeout, for an answer of an actor or for room in
// the mailbox of an actor of this rank.
func (s *Stack) awaitsActor() bool {
	return s.State == "sync.Cond.Wait" && slices.ContainsFunc(s.Functions, func(f string) bool {
		return f == "github.com/asynkron/protoactor-go/actor.(*Future).wait" || f == "github.com/gorun-hpc/gorun/runtime/actors.(*mailbox).postFull"
	})
}

// runsActor reports whether the goroutine runs an actor. Such a goroutine is in the actor's handler, or about
// to call the handler.
func (s *Stack) runsActor() bool {
	return slices.ContainsFunc(s.Functions, func(f string) bool {
		return f == "github.com/gorun-hpc/gorun/runtime/actors.(*workers).turn" || f == "github.com/gorun-hpc/gorun/runtime/actors.(*mailbox).run" ||
			strings.HasPrefix(f, "github.com/asynkron/protoactor-go/actor.(*defaultMailbox).")
	})
}

// serves reports whether the goroutine works for the program without belonging to it. Such a goroutine was
// started by gorun, protoactor, Go's runtime or the standard library's handling of signals. The name of each
// function on its stack begins with a prefix from servants or standard. The goroutine does not run an actor.
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

// servants lists prefixes of the names of functions that work for the program without calling it. Package
// collectives is not in the list: a goroutine of that package carries out an operation that the program has
// started, and sends messages when it has finished a computation.
var servants = []string{
	"github.com/gorun-hpc/gorun/runtime.", "github.com/gorun-hpc/gorun/runtime/",
	"github.com/gorun-hpc/gorun/transport.", "github.com/gorun-hpc/gorun/transport/",
	"github.com/gorun-hpc/gorun/bootstrap.", "github.com/gorun-hpc/gorun/bootstrap/",
	"github.com/gorun-hpc/gorun/internal/", "github.com/asynkron/protoactor-go/actor.",
	"os/signal.", "runtime.",
}

// isServant reports whether a function is one of the servants. Functions of tests belong to the program.
func isServant(function string) bool {
	return !strings.Contains(function, "_test.") && slices.ContainsFunc(servants, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// Acts reports whether one of the functions, which Timers has returned, may send a message for the program or end
// a wait of the program.
func Acts(functions []string) bool {
	return slices.ContainsFunc(functions, func(f string) bool {
		return !slices.ContainsFunc(chores, func(prefix string) bool { return strings.HasPrefix(f, prefix) })
	})
}

// chores lists prefixes of the names of functions that gorun's own timers call. These functions connect
// ranks, check whether operations of members differ, and continue sends that the engine already knows. Like
// goroutines of gorun, they start no operation for the program.
var chores = []string{
	"github.com/gorun-hpc/gorun/transport/", "github.com/gorun-hpc/gorun/bootstrap.",
	"github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).batchesDue", "github.com/gorun-hpc/gorun/collectives.(*watch).",
	"github.com/gorun-hpc/gorun/runtime/actors.(*workers).", "github.com/gorun-hpc/gorun/runtime/actors.(*System).look",
}

// standard lists prefixes of the names of functions in which goroutines of servants wait. All but the last two are
// packages of the standard library. The list names each of them, because a path without a dot may also be
// that of a package of the program.
var standard = []string{
	"internal/", "runtime.", "runtime/", "sync.", "sync/", "time.", "context.", "os.", "os/", "io.", "bufio.", "net.", "net/netip.",
	"syscall.", "crypto/", "golang.org/x/sys/", "github.com/klauspost/compress/",
}

func isStandard(function string) bool {
	return slices.ContainsFunc(standard, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

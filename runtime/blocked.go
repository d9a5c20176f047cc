package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// quitAgain is how soon after a SIGQUIT another one asks for the stacks of all
// goroutines and the end of the process, as Go does at the first.
const quitAgain = time.Second

// reportsMost is how long the end of a World waits until its reports are written.
const reportsMost = time.Second

// newReports returns what writes reports to standard error. Who listens does not write
// them: a reader who is slow, or never comes, would keep notices from being heard.
func newReports() *journal.Journal {
	return journal.New(func(text string) { fmt.Fprint(os.Stderr, text) })
}

// listen serves the notices of the node agent, and SIGQUIT, until stop.
func (w *World) listen() {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	stop := make(chan struct{})
	stopped := make(chan struct{})
	w.stop = func() {
		signal.Stop(quit)
		close(stop)
		<-stopped
		w.reports.Flush(reportsMost)
	}
	go func() {
		defer close(stopped)
		var last time.Time
		notices := w.session.Notices()
		for {
			select {
			case <-stop:
				return
			case <-quit:
				if time.Since(last) < quitAgain {
					signal.Reset(syscall.SIGQUIT)
					_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
				}
				last = time.Now()
				w.reports.Log(w.blocked())
			case n, ok := <-notices:
				if !ok {
					notices = nil // silent from now on
					continue
				}
				w.notice(n)
			}
		}
	}()
}

// notice acts on news from the node agent.
func (w *World) notice(n bootstrap.Notice) {
	switch n.Kind {
	case bootstrap.PeerDown:
		w.engine.MarkDown(n.Rank, causeError(n.Cause))
	case bootstrap.Dump:
		if text := w.blocked(); w.session.Report(text) != nil {
			w.reports.Log(text)
		}
	case bootstrap.AgentLost:
		w.engine.Abort(fmt.Errorf("%w: %w: %s", ErrAborted, bootstrap.ErrAgentLost, n.Cause))
	default:
	}
}

// causeError is a cause that came as text.
type causeError string

// Error implements error.
func (e causeError) Error() string { return string(e) }

// blocked describes what every goroutine of this rank waits for, one per line, and
// which actors are at a message or wait for others.
func (w *World) blocked() string {
	var b strings.Builder
	waiting := slices.DeleteFunc(w.engine.Blocked(), func(o engine.Blocked) bool { return o.Serves })
	fmt.Fprintf(&b, "rank %d of %d, process %d: ", w.Rank(), w.Size(), os.Getpid())
	switch {
	case len(waiting) > 0:
		fmt.Fprintf(&b, "%d waiting\n", len(waiting))
	case w.leaving.Load():
		b.WriteString("has finished, and waits for the others to do so\n")
	default:
		b.WriteString("waits for no message\n")
	}
	for _, doing := range w.comms.doing() {
		fmt.Fprintf(&b, "  in %s\n", doing)
	}
	now := time.Now()
	for _, o := range waiting {
		w.describe(&b, o, now)
	}
	w.describeUnreceived(&b)
	for _, line := range w.contacts(waiting) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	busy := slices.DeleteFunc(w.actorTree(), func(a port.Actor) bool { return !a.Busy })
	for i, a := range busy {
		if i == explainActorsMax {
			fmt.Fprintf(&b, "  ... and %d more\n", len(busy)-i)
			break
		}
		fmt.Fprintf(&b, "  actor %s: %s, %s\n", a.ID, a.Kind, a.State)
	}
	return b.String()
}

// contacts are lines for the peers of waiting operations that there is no connection
// with: what was tried, and whether a peer is silent that its node says lives.
func (w *World) contacts(waiting []engine.Blocked) []string {
	if w.network.fabric == nil {
		return nil
	}
	var peers []int
	for _, o := range waiting {
		if !o.Await && o.Peer >= 0 && !slices.Contains(peers, o.Peer) {
			peers = append(peers, o.Peer)
		}
	}
	slices.Sort(peers)
	var lines []string
	_ = w.ask(func() { // an engine that has ended has nothing to say
		for _, peer := range peers {
			for _, s := range []string{w.network.fabric.silence(peer), w.network.fabric.search(peer)} {
				if s != "" {
					lines = append(lines, fmt.Sprintf("rank %d: %s", peer, s))
				}
			}
		}
	})
	return lines
}

// Describer is an attribute of a communicator that says what the rank is doing there, for
// the report of a job that hangs: "barrier, call 3, at main.go:12", or nothing. It is
// called on a goroutine of its own.
type Describer interface{ Doing() string }

// doing lists what attributes say that the rank is doing, by communicator.
func (s *comms) doing() []string {
	s.mu.RLock()
	cores := slices.SortedFunc(maps.Values(s.live), func(a, b *commCore) int { return cmp.Compare(a.number, b.number) })
	s.mu.RUnlock()
	var list []string
	for _, core := range cores {
		for _, v := range core.attributes.values() {
			if d, ok := v.(Describer); ok {
				if doing := d.Doing(); doing != "" {
					list = append(list, fmt.Sprintf("%s, %s", core.name, doing))
				}
			}
		}
	}
	return list
}

// unreceivedMax is how many messages that nobody received a report lists.
const unreceivedMax = 8

// describeUnreceived writes which messages of the program have arrived and wait for a
// receive: a wrong tag is seen at a glance.
func (w *World) describeUnreceived(b *strings.Builder) {
	left := slices.DeleteFunc(w.engine.Unreceived(), func(u engine.Unreceived) bool {
		return u.Context == contextTask || u.Context%contextStride != contextUser
	})
	for i, u := range left {
		if i == unreceivedMax {
			fmt.Fprintf(b, "  ... and %d more\n", len(left)-i)
			return
		}
		fmt.Fprintf(b, "  not received: %d bytes from rank %d, tag %d, %s\n", u.Bytes, u.Source, u.Tag, nameOf(w.comms.find(u.Context)))
	}
}

// describe writes one waiting operation.
func (w *World) describe(b *strings.Builder, o engine.Blocked, now time.Time) {
	fmt.Fprintf(b, "  %s", o.Op)
	if !o.Await {
		w.describeMessage(b, o)
	}
	fmt.Fprintf(b, ", %s", now.Sub(o.Since).Round(time.Millisecond))
	if at := callerOf(o.Stack); at != "" {
		fmt.Fprintf(b, ", at %s", at)
	}
	b.WriteByte('\n')
}

// describeMessage writes what message an operation waits for.
func (w *World) describeMessage(b *strings.Builder, o engine.Blocked) {
	core := w.comms.find(o.Context)
	if o.Peer >= 0 {
		fmt.Fprintf(b, ", rank %d", o.Peer)
		if core != nil && core.index != nil {
			fmt.Fprintf(b, " (%d there)", core.index[o.Peer])
		}
	} else {
		b.WriteString(", any source")
	}
	if o.Context%contextStride != contextUser {
		fmt.Fprintf(b, ", for an operation of %s", nameOf(core))
		return // the tag and the length are the library's
	}
	if o.Tag >= 0 {
		fmt.Fprintf(b, ", tag %d", o.Tag)
	} else {
		b.WriteString(", any tag")
	}
	fmt.Fprintf(b, ", %s, %d bytes", nameOf(core), o.Bytes)
}

// nameOf is the name of a communicator, which may have been freed.
func nameOf(core *commCore) string {
	if core == nil {
		return "a communicator that was freed"
	}
	return core.name
}

// callerOf returns where the program called into gorun, with the function, "" for a
// goroutine of gorun's own.
func callerOf(stack []uintptr) string {
	line, function := callsite.Caller(stack)
	if line == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s)", line, function)
}

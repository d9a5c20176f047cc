package runtime

import (
	"fmt"
	"os"
	"os/signal"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// If a second SIGQUIT follows the first within quitAgain, the process prints the stacks of all goroutines and ends.
// Without this package, a Go program does that at the first SIGQUIT.
const quitAgain = time.Second

// If a SIGQUIT follows a request of gorun for a report within quitAfterDump, the process also prints the stacks and
// ends. quitAfterDump is longer than quitAgain, because gorun forwards the user's second SIGQUIT, which takes time.
const quitAfterDump = 3 * time.Second

// reportsMost bounds how long the end of a World waits until its reports are written.
const reportsMost = time.Second

// newReports returns a writer of reports to standard error. It writes on a goroutine of its own,
// because a slow or blocked standard error must not delay the handling of notices.
func newReports() *journal.Journal {
	return journal.New(func(text string) { fmt.Fprint(os.Stderr, text) })
}

// listen starts a goroutine that handles the notices and renewals of the session and, if the rank is a
// process of its own, SIGQUIT. The goroutine also calls World.look from time to time. The
// function w.stop ends the goroutine.
func (w *World) listen() {
	quit := make(chan os.Signal, 1)
	if w.local == nil {
		notifyQuit(quit)
	}
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
		looks := time.NewTimer(stalledLook)
		defer looks.Stop()
		notices := w.session.Notices()
		for {
			select {
			case <-stop:
				return
			case <-quit:
				if time.Since(last) < quitAgain || time.Since(w.asked) < quitAfterDump {
					quitAsGoDoes()
				}
				last = time.Now()
				w.reports.Log(w.blocked())
			case now := <-looks.C:
				looks.Reset(w.look(now))
			case n, ok := <-notices:
				if !ok {
					notices = nil // the channel is closed, and a receive from nil never succeeds
					continue
				}
				w.notice(n)
			case <-w.session.Renewals():
				w.renewed()
			}
		}
	}()
}

// notice handles a notice of the session or of a localCouncil.
func (w *World) notice(n bootstrap.Notice) {
	switch n.Kind {
	case bootstrap.PeerDown:
		w.deaths.announce(n.Rank, causeError(n.Cause))
		w.engine.MarkDown(n.Rank, causeError(n.Cause))
		w.memory.detach(n.Rank)
	case bootstrap.Decided:
		w.decided(n.Decision)
	case bootstrap.Revoked:
		w.takeRevocation(n.Revocation)
	case bootstrap.Dump:
		w.asked = time.Now()
		if d := w.doing(); w.session.Report(n.Number, d.Encode()) != nil {
			w.reports.Log(d.String())
		}
	case bootstrap.AgentLost:
		w.engine.Abort(fmt.Errorf("%w: %w: %s", ErrAborted, bootstrap.ErrAgentLost, n.Cause))
	default:
	}
}

// causeError is a cause that was received as text.
type causeError string

// Error implements error.
func (e causeError) Error() string { return string(e) }

// blocked returns the text of the report that the method World.doing returns: what the goroutines of this rank
// wait for in gorun, and which actors are busy (port.Actor.Busy).
func (w *World) blocked() string { return w.doing().String() }

// doing returns this rank's report of its blocked operations.
func (w *World) doing() bootstrap.Doing {
	d := bootstrap.Doing{Rank: w.Rank(), Size: w.Size(), Process: os.Getpid(), Finished: w.leaving.Load()}
	d.In, d.All = w.comms.doing()
	waiting := w.waiting()
	now := time.Now()
	for _, o := range waiting {
		d.Waits = append(d.Waits, w.describe(o, now))
	}
	d.Stuck, d.Serves = w.dependence(waiting, d.Waits), w.serves()
	d.Lanes = w.lanes()
	w.whereabouts(&d, now) // before futures, because the age of the waits for futures is not known
	d.Waits = append(d.Waits, w.futures()...)
	d.Notes = append(w.unreceived(), w.contacts(waiting)...)
	busy := slices.DeleteFunc(w.actorTree(), func(a port.Actor) bool { return !a.Busy })
	for i, a := range busy {
		if i == explainActorsMax {
			d.Notes = append(d.Notes, fmt.Sprintf("... and %d more", len(busy)-i))
			break
		}
		d.Notes = append(d.Notes, fmt.Sprintf("actor %s: %s, %s", a.ID, a.Kind, a.State))
	}
	return d
}

// futures returns the waits of the program's goroutines for the answer to a request to an actor.
// protoactor implements these waits, so the engine does not list them. In a Local of several ranks
// the list is empty, because the stack of a goroutine does not tell to which rank the goroutine belongs.
func (w *World) futures() []bootstrap.Wait {
	if w.local != nil && w.Size() > 1 {
		return nil
	}
	var list []bootstrap.Wait
	for _, stack := range goroutines() {
		if line, function := callsite.FutureCaller(stack); line != "" {
			list = append(list, bootstrap.Wait{Op: "wait for a Future", Peer: noPeer, Among: w.serves(), Line: line, Function: function})
		}
	}
	return list
}

// noPeer is the Peer of a wait that is not for one particular rank.
const noPeer = -1

// goroutines returns the stacks of all goroutines of the process.
func goroutines() [][]uintptr {
	records := make([]goruntime.StackRecord, goruntime.NumGoroutine()+spareGoroutines)
	n, ok := goruntime.GoroutineProfile(records)
	for !ok {
		records = make([]goruntime.StackRecord, n+spareGoroutines)
		n, ok = goruntime.GoroutineProfile(records)
	}
	stacks := make([][]uintptr, n)
	for i := range stacks {
		stacks[i] = records[i].Stack()
	}
	return stacks
}

// spareGoroutines is the number of records of the goroutine profile that are allocated in addition to
// one for each existing goroutine. They are for goroutines that start before the profile is taken.
const spareGoroutines = 16

// searcher is implemented by a fabric that connects ranks in the background while operations wait.
type searcher interface {
	// Silence tells how long a peer has not answered although its host accepts connections. Search tells
	// which attempts to connect to a peer were made. Both return "" if there is nothing to report.
	// The engine's lock is held during both calls.
	Silence(peer int) string
	Search(peer int) string
}

// contacts returns lines about the peers that operations wait for and to which there is no
// connection. A line tells which attempts to connect were made, or how long a peer has not answered
// although its host accepts connections.
func (w *World) contacts(waiting []engine.Blocked) []string {
	f, ok := w.network.fabric.(searcher)
	if !ok {
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
	_ = w.engine.Query(func() { // after the end of the engine, Query does not call the function, and there are no lines
		for _, peer := range peers {
			for _, s := range []string{f.Silence(peer), f.Search(peer)} {
				if s != "" {
					lines = append(lines, fmt.Sprintf("rank %d: %s", peer, s))
				}
			}
		}
	})
	return lines
}

// doing returns the current operations that the attributes of each communicator describe. The result
// all reports whether any of these operations is on the World's communicator.
func (s *comms) doing() (list []string, all bool) {
	for _, core := range s.all() {
		for _, v := range core.attributes.values() {
			if d, ok := v.(Describer); ok {
				if doing := d.Doing(); doing != "" {
					list, all = append(list, fmt.Sprintf("%s, %s", core.name, doing)), all || core.number == 0
				}
			}
		}
	}
	return list, all
}

// unreceivedMax bounds the number of unreceived messages in a report.
const unreceivedMax = 8

// unreceived returns lines about the program's messages that have arrived and that no receive has
// matched. They show, for example, that a tag is wrong.
func (w *World) unreceived() []string {
	left := slices.DeleteFunc(w.engine.Unreceived(), func(u engine.Unreceived) bool {
		return u.Context == contextTask || u.Context%contextStride != contextUser
	})
	var lines []string
	for i, u := range left {
		if i == unreceivedMax {
			return append(lines, fmt.Sprintf("... and %d more", len(left)-i))
		}
		lines = append(lines, fmt.Sprintf("not received: %d bytes from rank %d, tag %d, %s", u.Bytes, u.Source, u.Tag, nameOf(w.comms.find(u.Context))))
	}
	return lines
}

// describe returns the report's entry for a waiting operation.
func (w *World) describe(o engine.Blocked, now time.Time) bootstrap.Wait {
	b := bootstrap.Wait{Op: o.Op, Peer: noPeer, Among: w.among(o), Seconds: now.Sub(o.Since).Seconds()}
	switch {
	case o.Await:
	case o.Context == contextTask:
		b.Op = "wait for a nonblocking operation"
	default:
		b.What, b.Peer = w.describeMessage(o), max(o.Peer, noPeer)
	}
	b.Line, b.Function = callsite.Caller(o.Stack)
	return b
}

// describeMessage describes the message that an operation waits for.
func (w *World) describeMessage(o engine.Blocked) string {
	core := w.comms.find(o.Context)
	from := "any source"
	if o.Peer >= 0 {
		from = fmt.Sprintf("rank %d", o.Peer)
		if core != nil && core.index != nil {
			from += fmt.Sprintf(" (%d there)", core.index[o.Peer])
		}
	}
	if o.Context%contextStride != contextUser {
		return fmt.Sprintf("%s, for an operation of %s", from, nameOf(core)) // tag and length are internal
	}
	tag := "any tag"
	if o.Tag >= 0 {
		tag = fmt.Sprintf("tag %d", o.Tag)
	}
	return fmt.Sprintf("%s, %s, %s, %d bytes", from, tag, nameOf(core), o.Bytes)
}

// nameOf returns the name of a communicator. core is nil if the communicator was closed.
func nameOf(core *commCore) string {
	if core == nil {
		return "a communicator that was closed"
	}
	return core.name
}

// callerOf returns the line and the function of the program that called into gorun, or "" for a
// goroutine that gorun itself has started.
func callerOf(stack []uintptr) string {
	line, function := callsite.Caller(stack)
	if line == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s)", line, function)
}

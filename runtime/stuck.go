package runtime

import (
	goruntime "runtime"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/goroutine"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

const (
	// stalledLook is the time between two looks at what the rank waits for, stalledAfter how
	// old its youngest wait is when the launcher is told. Operations that fail because the
	// members of a communicator called different ones have failed by then.
	stalledLook  = 250 * time.Millisecond
	stalledAfter = 1500 * time.Millisecond
	// stacksMax bounds the text of the stacks of all goroutines that a proof may need.
	stacksMax = 1 << 20
)

// stalls tells the launcher when this rank waits for long. It belongs to the goroutine of
// World.listen.
type stalls struct {
	calls uint64    // of the engine, at the last look
	quiet time.Time // since when they have not changed
	// handled is what the rank had handled at the last look, and idle since when that has not changed.
	handled uint64
	idle    time.Time
	// told is the number of the waits that the launcher was told of, stuck that they were
	// proven to depend on other ranks alone.
	told  int64
	stuck bool
	// again is when a proof is tried next, pause how long after that.
	again time.Time
	pause time.Duration
}

// pauseMax bounds the time between two attempts to prove that the same waits depend on other
// ranks alone: another goroutine of the program may end meanwhile.
const pauseMax = 16 * time.Second

// look tells the launcher once that the rank waits for long, and again when it is known that
// other ranks alone can end that.
func (w *World) look(now time.Time) {
	w.engine.Tick(now)
	s := &w.stalls
	if calls := w.engine.Calls(); calls != s.calls || s.quiet.IsZero() {
		s.calls, s.quiet = calls, now
	}
	n := w.episode(now)
	switch {
	case n == 0 || n == s.told && (s.stuck || now.Before(s.again)):
		return
	case n != s.told:
		s.pause = stalledLook
	}
	s.pause = min(2*s.pause, pauseMax)
	s.again = now.Add(s.pause)
	d := w.doing()
	if again := n == s.told; again && d.Stuck == 0 {
		return
	}
	s.told, s.stuck = n, d.Stuck != 0
	_ = w.session.Stalled(d.Encode()) // fails only when the job ends
}

// episode is a number that changes when the rank begins or ends to wait; 0 if it does not wait for long. A rank with actors
// may wait for an answer, which the engine does not know: it waits if it handles nothing.
func (w *World) episode(now time.Time) int64 {
	s := &w.stalls
	if handled := w.engine.Handled(); handled != s.handled || s.idle.IsZero() {
		s.handled, s.idle = handled, now
	}
	if w.leaving.Load() {
		return 1
	}
	waiting := w.waiting()
	if len(waiting) > 0 || !w.hasActors() {
		return episode(waiting, now)
	}
	if now.Sub(s.idle) < stalledAfter {
		return 0
	}
	return s.idle.UnixNano()
}

// waiting are the operations that goroutines wait for, but messages to actors and answers to
// inquiries of libraries.
func (w *World) waiting() []engine.Blocked {
	return slices.DeleteFunc(w.engine.Blocked(), func(o engine.Blocked) bool {
		return o.Serves || o.Await && o.Op == inquiryWait
	})
}

// episode is a number that changes when a wait begins or ends; 0 if there are none or one
// has not lasted for long.
func episode(waiting []engine.Blocked, now time.Time) int64 {
	var n int64
	for _, o := range waiting {
		if now.Sub(o.Since) < stalledAfter {
			return 0
		}
		n = n*episodePrime ^ o.Since.UnixNano()
	}
	return n
}

// episodePrime mixes the times of several waits (FNV-1a's 64-bit prime).
const episodePrime = 1<<40 + 0x1b3

// dependence returns a number of the waits if nothing but other ranks can end them, else 0: no
// context ends them, all goroutines of the program are in them, in World.Close, or wait for those
// that are, no timer is going to call a function of the program, and the rank has nothing to send. It changes when the rank handles anything, because
// gorun may have answered.
func (w *World) dependence(waiting []engine.Blocked, described []bootstrap.Wait) int64 {
	n, in := episode(waiting, time.Now()), len(waiting)
	if w.leaving.Load() {
		in++ // the goroutine of Close
	}
	if len(waiting) == 0 && (w.leaving.Load() || w.hasActors()) {
		n = 1
	}
	if n == 0 || !w.actorsIdle() {
		return 0
	}
	handled, only := w.engine.OnlyWaits()
	if !only {
		return 0
	}
	for i, o := range waiting {
		if o.Limited || described[i].Among == "" || len(o.Stack) == 0 {
			return 0 // where it waits is not known before the goroutine has slept
		}
	}
	// Before the stacks, a timer may become a goroutine that is in them; behind them, one may come from a goroutine
	// that has begun to wait.
	if timersAct() || !onlyIn(in) || timersAct() || !w.actorsIdle() {
		return 0
	}
	if n = n*episodePrime ^ int64(handled); n == 0 {
		return 1
	}
	return n
}

// onlyIn reports whether n goroutines, all of those of the program, are in a wait of the engine or in World.Close.
func onlyIn(n int) bool {
	text := make([]byte, stacksMax)
	text = text[:goruntime.Stack(text, true)]
	return len(text) < stacksMax && goroutine.AllIn(string(text), n, engineWait, closeWait)
}

// timersAct reports whether a function of time.AfterFunc may go on with the program, or may exist.
func timersAct() bool {
	functions, known := goroutine.Timers()
	return !known || goroutine.Acts(functions)
}

// engineWait is the function of the engine that a goroutine is in as long as it waits, closeWait
// that in which World.Close waits for the other ranks.
const (
	engineWait = "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).waitLong"
	closeWait  = "github.com/gorun-hpc/gorun/bootstrap.(*Session).Fence"
)

// among are the world ranks of which one ends a wait, as bootstrap.FormatRanks writes them; ""
// if that is not known.
func (w *World) among(o engine.Blocked) string {
	switch {
	case o.Await && o.Op == sharedWaitName:
		return bootstrap.FormatRanks(w.memory.awaited())
	case o.Await:
		return w.serves()
	case o.Several:
		return bootstrap.FormatRanks(w.comm.members())
	case o.Context == contextTask:
		return bootstrap.FormatRanks([]int{w.Rank()})
	case o.Peer >= 0:
		return bootstrap.FormatRanks([]int{o.Peer})
	default:
		return bootstrap.FormatRanks(w.comm.members())
	}
}

// serves are the world ranks whose messages the actors of this rank may get, "" if it has no actors.
func (w *World) serves() string {
	if !w.hasActors() {
		return ""
	}
	all := make([]int, w.Size())
	for rank := range all {
		all[rank] = rank
	}
	return bootstrap.FormatRanks(all)
}

// laneCounter is a fabric that counts the frames to and from a peer.
type laneCounter interface {
	// Position returns how many frames were given a place in the lane to a peer and how many
	// came from it, modulo 65536. The engine's lock is held.
	Position(peer int) (sent, received uint16)
}

// lanes are the positions of the lanes to ranks of other nodes.
func (w *World) lanes() []bootstrap.Lane {
	f, ok := w.network.fabric.(laneCounter)
	if !ok {
		return nil
	}
	var list []bootstrap.Lane
	_ = w.ask(func() { // an engine that has ended has no frames under way
		for peer := range w.Size() {
			if w.network.fabric.Known(peer) {
				sent, received := f.Position(peer)
				list = append(list, bootstrap.Lane{Peer: peer, Sent: sent, Received: received})
			}
		}
	})
	return list
}

// whereabouts adds for how long the rank has ended no wait and, if none of its goroutines
// waits, not called gorun, and where the program is then.
func (w *World) whereabouts(d *bootstrap.Doing, now time.Time) {
	for i, wait := range d.Waits {
		if i == 0 || wait.Seconds < d.Quiet {
			d.Quiet = wait.Seconds
		}
	}
	if len(d.Waits) > 0 || d.Finished {
		return
	}
	switch s := &w.stalls; {
	case s.quiet.IsZero():
	case w.hasActors(): // the goroutine that serves them calls the engine now and then
		d.Quiet = now.Sub(s.idle).Seconds()
	case w.engine.Calls() == s.calls:
		d.Quiet = now.Sub(s.quiet).Seconds()
	}
	for _, stack := range goroutines() {
		if line, function := callsite.MainCaller(stack); line != "" {
			d.Line, d.Function = line, function
			return
		}
	}
}

// awaited are the world ranks that share memory of which goroutines of this rank wait for a
// word, in ascending order.
func (m *memory) awaited() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ranks []int
	for _, s := range m.waits {
		ranks = append(ranks, s.members...)
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

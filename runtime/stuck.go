package runtime

import (
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/goroutine"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

const (
	// stalledLook is the interval at which a rank that calls gorun examines its waits. If the rank does not
	// call gorun, the interval doubles with every look up to stalledLookMax. The reason is that a look costs 0.3 ms of
	// processor time: the processor wakes, and so does Go's monitor thread.
	stalledLook    = 250 * time.Millisecond
	stalledLookMax = 750 * time.Millisecond
	// stalledAfter is the age of the youngest wait at which the rank reports its waits to the launcher.
	// If the members of a communicator have called different collective operations, these operations
	// usually fail before that time.
	stalledAfter = 1500 * time.Millisecond
	// stacksMax bounds the text, in bytes, of the stacks of all goroutines that onlyIn examines. The first
	// buffer of onlyIn has stacksLeast bytes, which is enough for some 50 goroutines.
	stacksMax   = 1 << 20
	stacksLeast = 64 << 10
)

// stalls is the state by which World.look reports long waits of this rank to the launcher. Only the
// goroutine of World.listen writes it.
type stalls struct {
	mu    sync.Mutex // guards calls, quiet and idle, which localJob.Report reads on another goroutine
	calls uint64     // Engine.Calls at the last call of look
	quiet time.Time  // calls has not changed since then
	// interval is the time from the last look to the next one. If waits are to be reported earlier, the next
	// look is earlier, too.
	interval time.Duration
	// handled is Engine.Handled at the last call of look. idle is the time since which handled has not
	// changed.
	handled uint64
	idle    time.Time
	// told is the number that World.episode returned for the waits that were reported to the
	// launcher last. stuck reports whether it was proven that only other ranks can end these waits.
	told  int64
	stuck bool
	// again is the time of the next attempt at a proof. pause is the time from the last attempt to
	// the next one.
	again time.Time
	pause time.Duration
}

// pauseMax bounds the time between two attempts to prove that only other ranks can end the same waits.
// A later attempt may succeed because another goroutine of the program has ended meanwhile.
const pauseMax = 16 * time.Second

// look reports the waits of the rank to the launcher if the rank has waited for stalledAfter. It reports the same
// waits a second time when it is proven that only other ranks can end them. It returns the time until the next look.
func (w *World) look(now time.Time) time.Duration {
	w.engine.Tick(now)
	s := &w.stalls
	s.interval = min(2*s.interval, stalledLookMax)
	if calls := w.engine.Calls(); calls != s.calls || s.quiet.IsZero() {
		s.mu.Lock()
		s.calls, s.quiet, s.interval = calls, now, stalledLook
		s.mu.Unlock()
	}
	n, due := w.episode(now)
	if n != 0 {
		w.report(n, now)
		due = s.again
	}
	if left := due.Sub(now); left > 0 {
		return min(s.interval, left)
	}
	return s.interval
}

// report reports the waits of episode n (see World.episode) to the launcher. If the report does not contain the
// proof that only other ranks can end the waits, report tries the proof again, after pauses that double. It
// reports the waits a second time when the proof succeeds.
func (w *World) report(n int64, now time.Time) {
	s := &w.stalls
	switch {
	case n == s.told && (s.stuck || now.Before(s.again)):
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

// episode returns a number that changes when the rank begins or ends a wait, or 0 if the rank has
// not waited for stalledAfter. If n is 0, due is the time at which the present waits reach this age, or zero
// if there is no wait. A rank with actors may wait for actor messages, for example for the answer of a Future.
// World.waiting does not list such waits. If it lists no wait, the rank counts as waiting when it has handled nothing
// for stalledAfter. In World.Close, the number is always 1.
func (w *World) episode(now time.Time) (n int64, due time.Time) {
	s := &w.stalls
	if handled := w.engine.Handled(); handled != s.handled || s.idle.IsZero() {
		s.mu.Lock()
		s.handled, s.idle = handled, now
		s.mu.Unlock()
	}
	if w.leaving.Load() {
		return 1, time.Time{}
	}
	waiting := w.waiting()
	if len(waiting) > 0 || !w.hasActors() {
		return episodeOf(waiting, now)
	}
	if due = s.idle.Add(stalledAfter); now.Before(due) {
		return 0, due
	}
	return s.idle.UnixNano(), due
}

// waiting returns the operations that goroutines wait for. It leaves out the waits of the serving
// goroutine for actor messages and the waits of libraries for answers to an Inquire.
func (w *World) waiting() []engine.Blocked {
	return slices.DeleteFunc(w.engine.Blocked(), func(o engine.Blocked) bool {
		return o.Serves || o.Await && o.Op == inquiryWait
	})
}

// episodeOf returns a number that changes when a wait begins or ends. It returns 0 if there is no
// wait, or if a wait is younger than stalledAfter. The result due is the time at which the youngest wait
// reaches this age.
func episodeOf(waiting []engine.Blocked, now time.Time) (n int64, due time.Time) {
	for _, o := range waiting {
		if d := o.Since.Add(stalledAfter); d.After(due) {
			due = d
		}
		n = n*episodePrime ^ o.Since.UnixNano()
	}
	if now.Before(due) {
		return 0, due
	}
	return n, due
}

// episodePrime is the 64-bit prime of FNV-1a. Hashes of the times of waits, and identityOf, multiply by it.
const episodePrime = 1<<40 + 0x1b3

// dependence returns a number that identifies the waits if only other ranks can end them, else 0.
// This dependence is proven if six conditions hold. It is known which ranks can end each wait. No
// context.Context can end the waits. Every goroutine of the program is in one of the waits or in
// World.Close, or cannot continue before another goroutine acts (goroutine.AllIn). No timer is going to
// call a function of the program. No actor is queued to run. The rank has nothing to send, and no Get or
// Put is under way. The number changes when the rank handles a frame that arrives, because gorun may have
// answered the frame.
func (w *World) dependence(waiting []engine.Blocked, described []bootstrap.Wait) int64 {
	n, _ := episodeOf(waiting, time.Now())
	in := len(waiting)
	if w.leaving.Load() {
		in++ // one goroutine is in World.Close
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
			return 0 // the stack is unknown until the goroutine has slept
		}
	}
	// If a timer has fired before the first check, the stacks contain its goroutine. The second check
	// finds a timer that a goroutine has set after the first check and before it began to wait.
	if timersAct() || !onlyIn(in) || timersAct() || !w.actorsIdle() {
		return 0
	}
	if n = n*episodePrime ^ int64(handled); n == 0 {
		return 1
	}
	return n
}

// onlyIn reports whether n goroutines are in a wait of the engine or in World.Close, and no other
// goroutine of the program can continue before another goroutine acts; see goroutine.AllIn.
func onlyIn(n int) bool {
	for room := stacksLeast; room <= stacksMax; room *= 2 {
		text := make([]byte, room)
		if text = text[:goruntime.Stack(text, true)]; len(text) < room {
			return goroutine.AllIn(string(text), n, engineWait, taskWait, closeWait)
		}
	}
	return false
}

// timersAct reports whether a timer of time.AfterFunc may call a function that acts for the program. It returns true
// if the timers are not known.
func timersAct() bool {
	functions, known := goroutine.Timers()
	return !known || goroutine.Acts(functions)
}

// engineWait is the function of the engine in which a goroutine waits. taskWait is the function of the engine in
// which a goroutine waits for the goroutine of a nonblocking operation. closeWait is the function in
// which World.Close waits for the other ranks.
const (
	engineWait = "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).waitLong"
	taskWait   = "github.com/gorun-hpc/gorun/runtime/internal/engine.(*Engine).attend"
	closeWait  = "github.com/gorun-hpc/gorun/bootstrap.(*Session).Fence"
)

// among returns the world ranks of which any one may end a wait, as bootstrap.FormatRanks writes
// them, or "" if they are not known.
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

// serves returns the world ranks from which the actors of this rank may get messages, as
// bootstrap.FormatRanks writes them, or "" if the rank has no actors.
func (w *World) serves() string {
	if !w.hasActors() {
		return ""
	}
	return bootstrap.FormatRanks(w.comm.members())
}

// laneCounter is a fabric that counts the frames to and from a peer.
type laneCounter interface {
	// Position returns two numbers of frames modulo 65536. The result sent counts the eager frames that were
	// enqueued in the lane to a peer. The result received counts the eager frames that have arrived from the
	// peer. The engine's lock is held.
	Position(peer int) (sent, received uint16)
}

// lanes returns the positions of the lanes to the ranks of other nodes with which this rank has
// exchanged messages or tried to.
func (w *World) lanes() []bootstrap.Lane {
	f, ok := w.network.fabric.(laneCounter)
	if !ok {
		return nil
	}
	var list []bootstrap.Lane
	_ = w.engine.Query(func() { // Query fails if the engine has ended, and then no frames are under way
		for peer := range w.Size() {
			if w.network.fabric.Known(peer) {
				sent, received := f.Position(peer)
				list = append(list, bootstrap.Lane{Peer: peer, Sent: sent, Received: received})
			}
		}
	})
	return list
}

// whereabouts sets d.Quiet to the age of the youngest wait in d.Waits. d.Waits does not contain the waits for futures
// yet, because their age is not known. If no goroutine is in such a wait or in World.Close, whereabouts sets d.Quiet
// to the time since the last call of gorun or, in a rank with actors, since the rank last handled a frame. It then
// also sets d.Line and d.Function, the source line and the function that the program executes.
func (w *World) whereabouts(d *bootstrap.Doing, now time.Time) {
	for i, wait := range d.Waits {
		if i == 0 || wait.Seconds < d.Quiet {
			d.Quiet = wait.Seconds
		}
	}
	if len(d.Waits) > 0 || d.Finished {
		return
	}
	w.stalls.mu.Lock()
	calls, quiet, idle := w.stalls.calls, w.stalls.quiet, w.stalls.idle
	w.stalls.mu.Unlock()
	switch {
	case quiet.IsZero():
	case w.hasActors(): // not Engine.Calls, because the serving goroutine calls the engine
		d.Quiet = now.Sub(idle).Seconds()
	case w.engine.Calls() == calls:
		d.Quiet = now.Sub(quiet).Seconds()
	}
	for _, stack := range goroutines() {
		if line, function := callsite.MainCaller(stack); line != "" {
			d.Line, d.Function = line, function
			return
		}
	}
}

// awaited returns the world ranks of the members of all Shareds in which a goroutine of this rank
// waits for a word, in ascending order.
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

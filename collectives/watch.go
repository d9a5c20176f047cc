package collectives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// watchPeriod is the period of a watch's timer. This rank asks other members (see compare) about their
// calls in two cases: a blocking operation has been in progress for one to two periods, or nonblocking operations
// are in progress and none has started or ended in that time. So calls that differ are
// reported before the launcher looks for a deadlock.
const watchPeriod = 500 * time.Millisecond

// watch detects calls that differ in cases where no message arrives whose label (label.go) could be
// compared. For example, two ranks both call Gather, each with itself as root. A watch has
// a timer, which runs while operations are in progress. If the timer already runs, the start of an
// operation costs the watch only the read of one word.
type watch struct {
	// awake is true while the timer runs.
	awake atomic.Bool
	// mu guards over and timer. No method of watched is called while mu is held.
	mu    sync.Mutex
	over  bool
	timer *time.Timer
	// seen is the result of latest at the last tick of the timer. Only the timer's goroutine uses seen.
	seen uint64
}

// watched is the state of a communicator's operations, which a watch supervises.
type watched interface {
	// underWay reports whether an operation is in progress.
	underWay() bool
	// latest returns a number that changes when an operation starts.
	latest() uint64
	// compare compares this rank's calls with the calls of other ranks. number is the result of latest.
	compare(number uint64)
}

// wake starts the timer if it does not run yet.
func (w *watch) wake(g watched) {
	if w.awake.Load() || !w.awake.CompareAndSwap(false, true) {
		return
	}
	w.again(g)
}

// again sets the timer for one more period. If the watch has ended, it does nothing.
func (w *watch) again(g watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case w.timer == nil:
		w.timer = time.AfterFunc(watchPeriod, func() { w.look(g) })
	default:
		w.timer.Reset(watchPeriod)
	}
}

// end stops the timer for good.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look is the timer's function. It compares the calls if latest returns the same number as at the last
// tick. If no operation is in progress, the timer stops.
func (w *watch) look(g watched) {
	if !g.underWay() {
		w.awake.Store(false)
		// An operation that began before this Store has not started the timer, because awake was still
		// true when it began.
		if g.underWay() {
			w.wake(g)
		}
		return
	}
	number := g.latest()
	if number == w.seen {
		g.compare(number)
	}
	w.seen = number
	w.again(g)
}

func (g *group) underWay() bool { return atomic.LoadUint32(&g.busy) != 0 }
func (g *group) latest() uint64 { return g.blocking.highest() }

// compare asks the members from which this rank waits to receive messages, and the next rank, for their calls.
// If the calls of one of them differ from this rank's calls, compare breaks the communicator. If every rank
// asks its next rank, any difference is found: if the calls of two members differ, then the calls of two
// neighbors in the ring of all ranks differ, too.
func (g *group) compare(number uint64) {
	g.compareWith(&g.blocking, 0, func() bool { return g.blocking.highest() == number })
}

// compareWith compares the recorded calls of one kind with those of the members from which this rank waits to
// receive messages, and of the next rank. If the calls differ, it breaks the communicator. It does nothing if the
// communicator is already broken or closed. It also breaks nothing if the argument still, a function, returns false.
// In this case, this rank has meanwhile started an operation (or, if the calls are nonblocking, has started or ended
// one).
func (g *group) compareWith(calls *record, started uint64, still func() bool) {
	if g.home.Err() != nil {
		return
	}
	for _, rank := range append(g.home.AwaitedRanks(), (g.rank+1)%g.size) {
		low, differs := g.differsFrom(g.home, rank, calls, started)
		if !differs {
			continue
		}
		mine, known := calls.of(low)
		if theirs := ask(g.home, rank, low|started); known && still() {
			g.home.Break(g.mismatch(g.home, mine, low|started, rank, theirs, low|started))
		}
		return
	}
}

// flying implements watched for the nonblocking operations of a group.
type flying struct{ *group }

// underWay returns false if the communicator is broken: an operation that was being launched at that time is counted in
// started, but its function may never be called.
func (f flying) underWay() bool { return f.ended.Load() < f.started.Load() && f.home.Err() == nil }

// latest changes when an operation starts or ends.
func (f flying) latest() uint64 { return f.started.Load() + f.ended.Load() }

func (f flying) compare(number uint64) {
	f.compareWith(&f.nonblocking, subjectStarted, func() bool { return f.latest() == number })
}

// differsFrom returns the number, modulo labelNumbers, of the first call of this rank that differs from
// the call of the other rank with the same number. It compares the calls that both ranks have recorded:
// blocking calls, or nonblocking calls if started is subjectStarted. The argument calls has this rank's
// calls of that kind.
func (g *group) differsFrom(c *runtime.Comm, rank int, calls *record, started uint64) (low uint64, differs bool) {
	text, err := c.Inquire(rank, subjectHistory|started)
	if err != nil {
		return 0, false
	}
	theirs := parseHistory(text)
	number := calls.highest()
	for n := number - min(number, recordSize) + 1; n <= number; n++ {
		mine, known := calls.of(n % labelNumbers)
		said, remembered := theirs[uint32(n)]
		if known && remembered && said != entry(mine.Call, n) {
			return n % labelNumbers, true
		}
	}
	return 0, false
}

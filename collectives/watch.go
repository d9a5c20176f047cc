package collectives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// watchPeriod is the minimum time that a blocking operation is under way before the members
// that it waits for are asked for their calls, and half of the longest: calls that differ are
// named before the launcher looks for a deadlock.
const watchPeriod = 500 * time.Millisecond

// watch finds members whose calls differ and that send no message that could be compared,
// such as two ranks in Gather that take each other for the root. It is a timer that runs
// while operations begin; an operation costs the read of a word.
type watch struct {
	// awake says that the timer runs.
	awake atomic.Bool
	// mu guards the fields below it. Nothing is called under it.
	mu    sync.Mutex
	over  bool
	timer *time.Timer
	// seen is the number of the operation that was under way at the last tick; only the
	// timer's goroutine uses it.
	seen uint64
}

// watched are the operations that a watch looks at.
type watched interface {
	// underWay reports whether a blocking operation is under way.
	underWay() bool
	// latest returns the number of the latest one.
	latest() uint64
	// compare compares its call with those of other ranks.
	compare(number uint64)
}

// wake starts the timer if it does not run.
func (w *watch) wake(g watched) {
	if w.awake.Load() || !w.awake.CompareAndSwap(false, true) {
		return
	}
	w.again(g)
}

// again makes the timer run once more.
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

// end ends the watch.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look compares the calls if the operation was under way at the last tick, too.
func (w *watch) look(g watched) {
	if !g.underWay() {
		w.awake.Store(false)
		// An operation that began meanwhile has found the timer running.
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

// compare asks the members that a blocking operation waits for, and the next one, for their
// calls, and breaks the communicator if one differs. If any members differ, then two
// neighbours around the ring do.
func (g *group) compare(number uint64) {
	if g.home.Err() != nil {
		return
	}
	for _, rank := range append(g.home.AwaitedRanks(), (g.rank+1)%g.size) {
		low, differs := g.differsFrom(g.home, rank)
		if !differs {
			continue
		}
		mine, known := g.blocking.of(low)
		if theirs := ask(g.home, rank, low); known && g.blocking.highest() == number {
			g.home.Break(g.mismatch(g.home, mine, low, rank, theirs, low))
		}
		return
	}
}

// differsFrom returns the number of the first call, of those that this rank and another
// one remember, that was not the same.
func (g *group) differsFrom(c *runtime.Comm, rank int) (low uint64, differs bool) {
	text, err := c.Inquire(rank, subjectHistory)
	if err != nil {
		return 0, false
	}
	theirs := parseHistory(text)
	number := g.blocking.highest()
	for n := number - min(number, recordSize) + 1; n <= number; n++ {
		mine, known := g.blocking.of(n % labelNumbers)
		said, remembered := theirs[n%labelNumbers]
		if known && remembered && said != label(mine.Fingerprint(), n) {
			return n % labelNumbers, true
		}
	}
	return 0, false
}

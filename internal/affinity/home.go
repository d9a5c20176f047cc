package affinity

import (
	"sync/atomic"
	"time"
)

// Home is the processor of a rank on a node with more ranks than processors. Ranks with the same processor have
// consecutive numbers, as with gorun -bind-to core. Home does not bind the rank. If a yield of a thread lets another
// process run on the thread's present processor, Home may move the thread to the rank's processor. Afterwards the
// kernel may move the thread again, for example if the rank computes and another processor is idle.
type Home struct {
	index      int // of the rank's processor among the processors of the node
	processors int // number of processors of the node
	yields     atomic.Uint32
	// stay is the processor on which enter last found that the thread can stay, or noProcessor.
	stay atomic.Int32
}

const noProcessor = -1

const (
	// One of yieldsPerLook yields is timed. A yield to another process and back takes 1 us or more. Therefore a rank
	// waits for 30 us or more before it moves.
	yieldsPerLook = 32
	// yieldedLong is the shortest duration of a yield that has let another process run (ADR 63).
	yieldedLong = time.Microsecond
)

// NewHome returns the Home of a rank. rank is its number among the ranks of its node, and processors is the number of
// processors that these ranks may use. NewHome returns nil if each of the ranks can have a processor of its own, or if
// there is only one processor.
func NewHome(rank, ranks, processors int) *Home {
	if ranks <= processors || processors < 2 {
		return nil
	}
	h := &Home{index: rank * processors / ranks, processors: processors}
	h.stay.Store(noProcessor)
	return h
}

// A Yielder yields the calling thread's processor to other processes.
type Yielder interface{ Yield() }

// Yield calls the method Yield of y. Then it may move the calling thread. h may be nil. Any goroutine may call Yield.
func (h *Home) Yield(y Yielder) {
	if h == nil || h.yields.Add(1)%yieldsPerLook != 0 {
		y.Yield()
		return
	}
	began := time.Now()
	y.Yield()
	h.yielded(time.Since(began))
}

// yielded moves the calling thread to the rank's processor if d, the duration of a yield, shows that another process
// has run.
func (h *Home) yielded(d time.Duration) {
	if d >= yieldedLong {
		h.enter()
	}
}

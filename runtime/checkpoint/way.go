package checkpoint

import (
	"time"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// way measures the way to the keeper by the ends of blocks: while some are always under way, it takes what
// ends.
type way struct {
	last  time.Time // when a block ended that was waited for, zero if the way was idle since
	bytes int       // of blocks that have ended since
	// taken and took are the bytes that were measured, and their time.
	taken int
	took  time.Duration
}

// ended says that the oldest block has ended, of n bytes; waited, that the sender had to wait for that.
func (w *way) ended(n int, now time.Time, waited bool) {
	w.bytes += n
	if !waited {
		return
	}
	if !w.last.IsZero() {
		w.taken += w.bytes
		w.took += now.Sub(w.last)
	}
	w.last, w.bytes = now, 0
}

// idle says that no block is under way.
func (w *way) idle() { w.last, w.bytes = time.Time{}, 0 }

// pace returns what was measured since the last call.
func (w *way) pace() packing.Pace {
	p := packing.Pace{Rate: rateOf(w.taken, w.took), Bound: w.taken > 0}
	w.taken, w.took = 0, 0
	return p
}

// rateOf is a rate in bytes per second, 0 for one that is not known.
func rateOf(bytes int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(bytes) / took.Seconds()
}

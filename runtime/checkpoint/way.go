package checkpoint

import (
	"time"

	"github.com/gorun-hpc/gorun/internal/packing"
)

// way measures the rate of the connection to the keeper. While blocks are in flight without interruption, the
// rate is the number of bytes of the completed blocks divided by the time in which they completed.
type way struct {
	last  time.Time // when the last awaited block completed; zero if idle was called since
	bytes int       // bytes of the blocks that have completed since last
	// taken and took are the bytes and the time that were measured since the last call of pace.
	taken int
	took  time.Duration
}

// ended records that the oldest block in flight, of n bytes, has completed. waited reports whether
// the sender had to wait for the completion.
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

// idle records that no block is in flight, so that the time until the next completion is not measured.
func (w *way) idle() { w.last, w.bytes = time.Time{}, 0 }

// pace returns the rate that was measured since the last call.
func (w *way) pace() packing.Pace {
	p := packing.Pace{Rate: rateOf(w.taken, w.took), Bound: w.taken > 0}
	w.taken, w.took = 0, 0
	return p
}

// rateOf returns a rate in bytes per second, or 0 if the time is 0, because the rate is then unknown.
func rateOf(bytes int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(bytes) / took.Seconds()
}

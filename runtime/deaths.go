package runtime

import (
	"slices"
	"sync"
)

// deaths are the ends of other ranks as far as this rank knows of them: from the launcher, or
// from a transport, which may be faster, or know of a rank that cannot be reached any more.
type deaths struct {
	// mu guards the fields. The engine's lock may be held when it is taken, hence nothing is
	// called with it held.
	mu    sync.Mutex
	order []int // as they became known
	cause map[int]error
	epoch int // how many the launcher has reported
}

// note records the loss of a rank.
func (d *deaths) note(rank int, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(rank, cause)
}

// announce records an end that the launcher reports.
func (d *deaths) announce(rank int, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	d.record(rank, cause)
}

// record is note. mu is held.
func (d *deaths) record(rank int, cause error) {
	if d.cause[rank] != nil {
		return
	}
	if d.cause == nil {
		d.cause = make(map[int]error)
	}
	d.cause[rank] = cause
	d.order = append(d.order, rank)
}

// all returns the ranks in the order in which their ends became known, and the epoch.
func (d *deaths) all() (ranks []int, epoch int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.order), d.epoch
}

// of returns why a rank has ended, nil if that is not known.
func (d *deaths) of(rank int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause[rank]
}

// lost takes note of a rank that the engine has lost. The engine's lock is held.
func (w *World) lost(rank int, cause error) {
	if !w.over.Load() { // else those that live leave the World, too
		w.deaths.note(rank, cause)
	}
	w.memory.lost(rank, cause)
	w.revocations.lost(rank)
}

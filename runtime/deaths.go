package runtime

import (
	"errors"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// deaths are the losses of other ranks that this rank knows of. The launcher reports the end of
// each rank. A transport may report the end earlier, and also reports a rank that cannot be reached
// any more.
type deaths struct {
	// mu guards the fields. The engine's lock may be held when mu is taken, hence no other lock is
	// taken while mu is held.
	mu    sync.Mutex
	order []int // lost ranks in the order in which they became known
	cause map[int]error
	epoch int // number of ranks whose end the launcher has reported
}

// note records the loss of a rank that the engine or a renewal of the job reports.
func (d *deaths) note(rank int, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(rank, cause)
}

// announce records the end of a rank that the launcher reports.
func (d *deaths) announce(rank int, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	d.record(rank, cause)
}

// record records a loss that is not known yet. mu is held.
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

// all returns the lost ranks, in the order in which their losses became known, and the number of ranks
// whose end the launcher has reported.
func (d *deaths) all() (ranks []int, epoch int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.order), d.epoch
}

// of returns the cause of the loss of a rank; nil if the rank is not known to be lost.
func (d *deaths) of(rank int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause[rank]
}

// lost handles the loss of a rank that the engine reports. The engine's lock is held.
func (w *World) lost(rank int, cause error) {
	over := w.over.Load() // after the end of the World, ranks leave it without being lost
	if !over {
		w.deaths.note(rank, cause)
	}
	w.memory.lost(rank, cause)
	if !over && !mayLive(cause) {
		w.memory.detach(rank)
	}
	w.revocations.lost(rank)
}

// mayLive reports whether a rank that was lost for this cause may live and still access memory that was handed over to
// it. Such a rank has damaged shared memory or violated the protocol.
func mayLive(cause error) bool {
	return errors.Is(cause, transport.ErrDamaged) || errors.Is(cause, engine.ErrProtocol)
}

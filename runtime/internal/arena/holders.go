package arena

import (
	"fmt"
	"math"
)

// own returns the table entry of l and the span that contains the memory of l. The error is ErrStale
// if this rank does not hold the lease any more. op is for that error only.
func (a *Arena) own(op string, l Lease) (*lease, *span, error) {
	e, s := a.find(uint64(l.Off))
	if e == nil || e.epoch != l.epoch || e.holder != a.rank || e.given {
		return nil, nil, fmt.Errorf("%s arena memory at %#x: %w", op, l.Off, ErrStale)
	}
	return e, s, nil
}

// Free ends the lease l. Its memory may be leased again.
func (a *Arena) Free(l Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.own("free", l)
	if err != nil {
		return err
	}
	e.holder = noHolder
	a.settle(e, s, l.Off)
	return nil
}

// Give makes rank the holder of the memory of l. From then on, l and all copies of it
// are stale. rank may be this rank itself, for a message to itself.
//
// The caller passes the result of Give to Confirm or to Regain. Until then, the memory is in
// flight: it is not leased again, even if rank returns it or is lost.
func (a *Arena) Give(l Lease, rank int) (Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _, err := a.own("give", l)
	if err != nil {
		return Lease{}, err
	}
	if !isRank(rank) {
		return Lease{}, fmt.Errorf("give arena memory at %#x, rank %d: %w", l.Off, rank, ErrNotHeld)
	}
	a.epoch++
	e.epoch, e.holder, e.given, e.flight = a.epoch, int32(rank), true, true
	return Lease{Off: l.Off, Bytes: l.Bytes, epoch: a.epoch}, nil
}

// inFlight returns the table entry and the span of a Lease that Give returned. The
// error is ErrStale if its memory is not in flight any more. op is for that error only.
func (a *Arena) inFlight(op string, given Lease) (*lease, *span, error) {
	e, s := a.find(uint64(given.Off))
	if e == nil || e.epoch != given.epoch || !e.flight {
		return nil, nil, fmt.Errorf("%s arena memory at %#x: %w", op, given.Off, ErrStale)
	}
	return e, s, nil
}

// Confirm ends the flight of memory after the message with the memory was sent. From then on, unless this rank
// is the holder, it must not access the memory. As an exception, its engine may read the memory until Return if
// reads is true. If the holder has returned the memory already, Confirm frees it.
func (a *Arena) Confirm(given Lease, reads bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.inFlight("confirm", given)
	if err != nil {
		return err
	}
	e.flight = false
	if a.guarded && !reads && e.holder != a.rank {
		// If Guard fails, the pages stay accessible, which only weakens the diagnosis.
		_ = Guard(s.bytes(s.off, s.n), true)
	}
	a.settle(e, s, given.Off)
	return nil
}

// Regain undoes a Give whose message could not be sent: this rank holds the memory
// again, by the Lease that Regain returns.
func (a *Arena) Regain(given Lease) (Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.inFlight("regain", given)
	if err != nil {
		return Lease{}, err
	}
	a.epoch++
	e.epoch, e.holder, e.given, e.flight = a.epoch, a.rank, false, false
	return Lease{Off: given.Off, Bytes: s.bytes(given.Off, e.n), epoch: a.epoch}, nil
}

// Return ends the hold of rank on the memory at off, which was given to rank. It is called when a
// rank returns the memory, or when the engine has transferred the bytes instead of handing them over. off
// is not trusted: if no lease begins at off or rank does not hold it, the error is ErrNoLease or
// ErrNotHeld, and nothing changes.
func (a *Arena) Return(off uint64, rank int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s := a.find(off)
	if e == nil {
		return fmt.Errorf("return arena memory at %#x, rank %d: %w", off, rank, ErrNoLease)
	}
	if !isRank(rank) || !e.drop(rank) {
		return fmt.Errorf("return arena memory at %#x, rank %d: %w", off, rank, ErrNotHeld)
	}
	a.settle(e, s, int(off))
	return nil
}

// TakeBack ends every hold of a rank that is down and does not access the memory any more, usually because its process
// has ended. It returns the number of leases that the rank held, and the sum of their lengths in bytes.
func (a *Arena) TakeBack(rank int) (leases, bytes int) {
	if rank == int(a.rank) || !isRank(rank) {
		return 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var ended []int
	a.each(func(l *lease, off int) {
		if l.drop(rank) {
			bytes += l.n
			ended = append(ended, off)
		}
	})
	for _, off := range ended {
		e, s := a.find(uint64(off))
		a.settle(e, s, off)
	}
	return len(ended), bytes
}

// isRank reports whether n can be the number of a rank. The arena does not know the size
// of the job.
func isRank(n int) bool { return n >= 0 && n <= math.MaxInt32 }

package arena

import "math"

// own returns the table's entry of a Lease of this rank that is not stale.
func (a *Arena) own(op string, l Lease, rank int) (*lease, *span, error) {
	e, s := a.find(uint64(l.Off))
	if e == nil || e.epoch != l.epoch || e.holder != a.rank || e.given {
		return nil, nil, &OpError{Op: op, Off: uint64(l.Off), Rank: rank, Err: ErrStale}
	}
	return e, s, nil
}

// Free ends the lease l. Its memory is used again.
func (a *Arena) Free(l Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.own("free", l, -1)
	if err != nil {
		return err
	}
	e.holder = noHolder
	a.settle(e, s, l.Off)
	return nil
}

// Give makes rank the holder of l, which with all its copies is stale from then
// on. rank may be this rank itself, for a message to itself.
//
// The memory is in flight until Confirm or Regain is called with what Give
// returned: even when rank returns it or goes down before, it is not used again.
func (a *Arena) Give(l Lease, rank int) (Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _, err := a.own("give", l, rank)
	if err != nil {
		return Lease{}, err
	}
	if !isRank(rank) {
		return Lease{}, &OpError{Op: "give", Off: uint64(l.Off), Rank: rank, Err: ErrNotHeld}
	}
	a.epoch++
	e.epoch, e.holder, e.given, e.flight = a.epoch, int32(rank), true, true
	return Lease{Off: l.Off, Bytes: l.Bytes, epoch: a.epoch}, nil
}

// inFlight returns the table's entry of what Give returned.
func (a *Arena) inFlight(op string, given Lease) (*lease, *span, error) {
	e, s := a.find(uint64(given.Off))
	if e == nil || e.epoch != given.epoch || !e.flight {
		return nil, nil, &OpError{Op: op, Off: uint64(given.Off), Rank: -1, Err: ErrStale}
	}
	return e, s, nil
}

// Confirm ends a Give that succeeded: this rank has nothing to do with the memory
// any more until its holder returns it.
func (a *Arena) Confirm(given Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.inFlight("confirm", given)
	if err != nil {
		return err
	}
	e.flight = false
	if a.guarded && e.holder != a.rank {
		// A failure leaves the pages open, which only weakens the diagnosis.
		_ = Guard(s.bytes(s.off, s.n), true)
	}
	a.settle(e, s, given.Off)
	return nil
}

// Regain undoes a Give that failed: this rank owns the memory again.
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

// Return ends the hold of rank on the memory at off that was given to it: what a
// peer's release asks for. off is not trusted: the error is ErrNoLease or ErrNotHeld, and nothing
// has changed then.
func (a *Arena) Return(off uint64, rank int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s := a.find(off)
	if e == nil {
		return &OpError{Op: "return", Off: off, Rank: rank, Err: ErrNoLease}
	}
	if !isRank(rank) || !e.drop(rank) {
		return &OpError{Op: "return", Off: off, Rank: rank, Err: ErrNotHeld}
	}
	a.settle(e, s, int(off))
	return nil
}

// TakeBack ends every hold of a rank that is down and has been reaped, and
// returns how many leases it held and how many bytes they were.
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

// isRank says that a number can be a rank, whatever the size of the world.
func isRank(n int) bool { return n >= 0 && n <= math.MaxInt32 }

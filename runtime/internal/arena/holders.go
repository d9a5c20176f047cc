package arena

import (
	"math"
	"slices"
)

// own returns the table's entry of a Lease of this rank that is not stale.
func (a *Arena) own(op string, l Lease, rank int) (*lease, *span, error) {
	e, s := a.find(uint64(l.Off))
	if e == nil || e.epoch != l.epoch || e.holder != a.rank || e.given {
		return nil, nil, &OpError{Op: op, Off: uint64(l.Off), Rank: rank, Err: ErrStale}
	}
	return e, s, nil
}

// Free ends this rank's hold of l. The memory is used again when the last
// reader has returned it too.
func (a *Arena) Free(l Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.own("free", l, -1)
	if err != nil {
		return err
	}
	e.holder = nobody
	a.settle(e, s, l.Off)
	return nil
}

// Give makes rank the holder of l, which with all its copies is stale from then
// on. rank may be this rank itself, for a message to itself. Memory with readers
// cannot be given away: ErrShared.
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
	if len(e.readers) > 0 {
		return Lease{}, &OpError{Op: "give", Off: uint64(l.Off), Rank: rank, Err: ErrShared}
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

// Share makes rank a reader of l once more: a rank that was made a reader twice
// returns it twice. This rank keeps its hold and must not write while there are
// readers.
func (a *Arena) Share(l Lease, rank int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _, err := a.own("share", l, rank)
	if err != nil {
		return err
	}
	if !isRank(rank) || rank == int(a.rank) {
		return &OpError{Op: "share", Off: uint64(l.Off), Rank: rank, Err: ErrNotHeld}
	}
	e.readers = append(e.readers, int32(rank))
	return nil
}

// Return ends one hold of rank on the memory at off: what a peer's release asks
// for. off is not trusted: the error is ErrNoLease or ErrNotHeld, and nothing
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

// Reclaim is Return for memory that was given away, by whoever holds it now: for
// callers that do not learn who returns it. Memory that was not given away is not
// touched: ErrNotHeld.
func (a *Arena) Reclaim(off uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s := a.find(off)
	if e == nil {
		return &OpError{Op: "return", Off: off, Rank: -1, Err: ErrNoLease}
	}
	if !e.given || e.holder == nobody {
		return &OpError{Op: "return", Off: off, Rank: -1, Err: ErrNotHeld}
	}
	e.holder = nobody
	a.settle(e, s, int(off))
	return nil
}

// Move passes one hold on the memory at off from one rank to another: the
// first has sent what it received to the second.
func (a *Arena) Move(off uint64, from, to int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _ := a.find(off)
	if e == nil {
		return &OpError{Op: "move", Off: off, Rank: from, Err: ErrNoLease}
	}
	if !isRank(from) || !isRank(to) {
		return &OpError{Op: "move", Off: off, Rank: from, Err: ErrNotHeld}
	}
	switch i := slices.Index(e.readers, int32(from)); {
	case e.given && e.holder == int32(from):
		e.holder = int32(to)
	case i >= 0:
		e.readers[i] = int32(to)
	default:
		return &OpError{Op: "move", Off: off, Rank: from, Err: ErrNotHeld}
	}
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
		if l.dropAll(rank) == 0 {
			return
		}
		bytes += l.n
		ended = append(ended, off)
	})
	for _, off := range ended {
		e, s := a.find(uint64(off))
		a.settle(e, s, off)
	}
	return len(ended), bytes
}

// Holders returns the ranks that hold the memory at off, that with the right to
// write first, or nil if it is not leased.
func (a *Arena) Holders(off uint64) []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, _ := a.find(off)
	if e == nil {
		return nil
	}
	var ranks []int
	if e.holder != nobody {
		ranks = append(ranks, int(e.holder))
	}
	for _, r := range e.readers {
		ranks = append(ranks, int(r))
	}
	return ranks
}

// isRank says that a number can be a rank, whatever the size of the world.
func isRank(n int) bool { return n >= 0 && n <= math.MaxInt32 }

package arena

import (
	"fmt"
	"math"
	"slices"
)

// own returns the table's entry of a Lease of this rank that is not stale.
func (a *Arena) own(op string, l Lease, rank int) (*lease, *span, error) {
	e, s := a.find(uint64(l.Off))
	if e == nil || e.epoch != l.epoch || e.holder != a.rank {
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
// cannot be given away: ErrShared. What Give returns is good for Regain alone.
func (a *Arena) Give(l Lease, rank int) (Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s, err := a.own("give", l, rank)
	if err != nil {
		return Lease{}, err
	}
	if len(e.readers) > 0 {
		return Lease{}, &OpError{Op: "give", Off: uint64(l.Off), Rank: rank, Err: ErrShared}
	}
	if !isRank(rank) {
		return Lease{}, &OpError{Op: "give", Off: uint64(l.Off), Rank: rank, Err: ErrNotHeld}
	}
	if a.guarded && rank != int(a.rank) {
		if err := Guard(s.bytes(s.off, s.n), true); err != nil {
			return Lease{}, fmt.Errorf("give arena memory at %#x to rank %d: %w", l.Off, rank, err)
		}
	}
	a.epoch++
	e.epoch, e.holder = a.epoch, int32(rank)
	return Lease{Off: l.Off, Bytes: l.Bytes, epoch: a.epoch}, nil
}

// Regain undoes a Give of which rank has not learned: given is what Give
// returned. The error is ErrStale if rank no longer holds it, because it was
// returned or taken back meanwhile.
func (a *Arena) Regain(given Lease, rank int) (Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, s := a.find(uint64(given.Off))
	if e == nil || e.epoch != given.epoch || !isRank(rank) || e.holder != int32(rank) {
		return Lease{}, &OpError{Op: "regain", Off: uint64(given.Off), Rank: rank, Err: ErrStale}
	}
	if a.guarded {
		if err := Guard(s.bytes(s.off, s.n), false); err != nil {
			return Lease{}, fmt.Errorf("regain arena memory at %#x: %w", given.Off, err)
		}
	}
	a.epoch++
	e.epoch, e.holder = a.epoch, a.rank
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

// Move passes one hold on the memory at off from one rank to another: the
// first has sent what it received to the second. No Regain is possible then.
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
	case e.holder == int32(from):
		a.epoch++
		e.epoch, e.holder = a.epoch, int32(to)
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

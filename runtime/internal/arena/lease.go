package arena

import "errors"

var (
	// ErrFull is the error of an allocation for which the range has no room.
	ErrFull = errors.New("the arena is full")
	// ErrNoLease is the error of an offset at which no lease begins.
	ErrNoLease = errors.New("no lease begins there")
	// ErrNotHeld is the error of Return for a rank that does not hold the memory, and of Give for a
	// number that cannot be a rank.
	ErrNotHeld = errors.New("not held by that rank")
	// ErrStale is the error of the use of a Lease after it was freed or given away.
	ErrStale = errors.New("freed or given away before")
)

// Lease is the handle of memory that this rank holds. It is a plain value. After Free or Give every
// copy of it is stale. The arena detects a stale copy by its epoch, a number that no other Lease has.
type Lease struct {
	// Off is where the memory begins, in bytes from the start of the range.
	Off int
	// Bytes is the memory, of the requested length.
	Bytes []byte

	epoch uint64
}

// noHolder is the holder of memory that was freed or returned.
const noHolder = -1

// lease is an entry of the table.
type lease struct {
	epoch  uint64 // epoch of the valid Lease of this entry; 0: not leased
	n      int    // requested length in bytes
	holder int32  // the rank that holds the memory now, or noHolder
	given  bool   // given away: the Lease is valid only for Confirm and Regain
	flight bool   // given, and neither Confirm nor Regain was called yet
}

// dead reports whether no rank holds the memory any more.
func (l *lease) dead() bool { return l.holder == noHolder && !l.flight }

// drop ends the hold of rank on memory that was given to it. It returns false if the
// memory was not given away, or if rank does not hold it.
func (l *lease) drop(rank int) bool {
	if !l.given || l.holder != int32(rank) {
		return false
	}
	l.holder = noHolder
	return true
}

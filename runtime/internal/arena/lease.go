package arena

import (
	"errors"
	"fmt"
)

var (
	// ErrFull says that the range has no room for the request.
	ErrFull = errors.New("the arena is full")
	// ErrNoLease says that an offset names no memory that is leased.
	ErrNoLease = errors.New("no lease begins there")
	// ErrNotHeld says that a rank released what it does not hold.
	ErrNotHeld = errors.New("not held by that rank")
	// ErrStale says that a Lease was used after it was freed or given away.
	ErrStale = errors.New("freed or given away before")
)

// OpError says which operation on which lease failed.
type OpError struct {
	// Op is "free", "give", "confirm", "regain" or "return".
	Op string
	// Off is the offset that was named, in bytes from the start of the range.
	Off uint64
	// Rank is the holder that was named, or -1.
	Rank int
	// Err is ErrNoLease, ErrNotHeld or ErrStale.
	Err error
}

// Error implements error.
func (e *OpError) Error() string {
	if e.Rank < 0 {
		return fmt.Sprintf("%s arena memory at %#x: %v", e.Op, e.Off, e.Err)
	}
	return fmt.Sprintf("%s arena memory at %#x, rank %d: %v", e.Op, e.Off, e.Rank, e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Lease is the handle of memory that this rank owns. It is a plain value; after
// Free or Give every copy of it is stale, which the epoch shows.
type Lease struct {
	// Off is where the memory begins, in bytes from the start of the range.
	Off int
	// Bytes is the memory, as long as was asked for.
	Bytes []byte

	epoch uint64
}

// noHolder is the holder of memory that was freed or returned.
const noHolder = -1

// lease is an entry of the table.
type lease struct {
	epoch  uint64 // of the Lease that names it; 0: not leased
	n      int    // bytes asked for
	holder int32  // the rank that owns it now, or noHolder
	given  bool   // away: no Lease is good but for Confirm and Regain
	flight bool   // given, but the giver has not confirmed it yet
}

// dead reports whether no rank holds the memory any more.
func (l *lease) dead() bool { return l.holder == noHolder && !l.flight }

// drop ends the hold of a rank that the memory was given to. It returns false if rank
// has none; memory of this rank that was not given away has no such hold.
func (l *lease) drop(rank int) bool {
	if !l.given || l.holder != int32(rank) {
		return false
	}
	l.holder = noHolder
	return true
}

package arena

import (
	"errors"
	"fmt"
	"slices"
)

var (
	// ErrFull says that the range has no room for the request.
	ErrFull = errors.New("the arena is full")
	// ErrNoLease says that an offset names no memory that is leased.
	ErrNoLease = errors.New("no lease begins there")
	// ErrNotHeld says that a rank released or passed on what it does not hold.
	ErrNotHeld = errors.New("not held by that rank")
	// ErrStale says that a Lease was used after it was freed or given away.
	ErrStale = errors.New("freed or given away before")
	// ErrShared says that readers still hold memory that must have none for what
	// was asked.
	ErrShared = errors.New("shared with other ranks")
)

// OpError says which operation on which lease failed.
type OpError struct {
	// Op is "free", "give", "confirm", "regain", "share", "return" or "move".
	Op string
	// Off is the offset that was named, in bytes from the start of the range.
	Off uint64
	// Rank is the holder that was named, or -1.
	Rank int
	// Err is ErrNoLease, ErrNotHeld, ErrStale or ErrShared.
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

// nobody is the holder of memory that the owner has freed while readers remain.
const nobody = -1

// lease is an entry of the table.
type lease struct {
	epoch   uint64 // of the Lease that names it; 0: not leased
	n       int    // bytes asked for
	holder  int32  // the rank that owns it now, or nobody
	given   bool   // away: no Lease is good but for Confirm and Regain
	flight  bool   // given, but the giver has not confirmed it yet
	readers []int32
}

// dead says that nobody holds the memory any more.
func (l *lease) dead() bool { return l.holder == nobody && !l.flight && len(l.readers) == 0 }

// drop takes one hold of rank away: what it was given, or one as a reader. It
// says false if rank has none; what is still ours was given to nobody.
func (l *lease) drop(rank int) bool {
	if l.given && l.holder == int32(rank) {
		l.holder = nobody
		return true
	}
	i := slices.Index(l.readers, int32(rank))
	if i < 0 {
		return false
	}
	last := len(l.readers) - 1
	l.readers[i] = l.readers[last]
	l.readers = l.readers[:last]
	return true
}

// dropAll takes every hold of rank away and returns how many there were.
func (l *lease) dropAll(rank int) (n int) {
	for l.drop(rank) {
		n++
	}
	return n
}

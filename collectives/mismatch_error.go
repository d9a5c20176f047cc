package collectives

import (
	"errors"
	"fmt"
)

// ErrMismatch is the error of members of a communicator that called different operations, or the
// same operation with different lengths, roots, operators or element types.
var ErrMismatch = errors.New("ranks call different collective operations")

// MismatchError names two ranks whose calls do not match. errors.Is(err, ErrMismatch) is true
// for it. The mismatch breaks the communicator: operations of the other ranks end with
// runtime.ErrCommBroken and the text of this error.
type MismatchError struct {
	// Rank is this rank, and Peer is the other rank. If the two groups of an Intercomm called different
	// operations, Peer is a rank of the other group.
	Rank, Peer int
	// Call and PeerCall describe the calls of the two ranks, for example "bcast of 8 bytes of uint8,
	// root 0". If the rank whose call differs is not known, Peer equals Rank and PeerCall has no
	// meaning.
	Call, PeerCall string
	// Line and PeerLine are the source lines, as in "main.go:12". PeerLine is empty if the peer does
	// not answer, or no longer has a record of the call: a rank records its last calls only.
	Line, PeerLine string
	// odd is the world rank that FailureOrigin returns.
	odd int
	// across is true if Peer is a rank of the other group of an Intercomm.
	across bool
}

// FailureOrigin returns the world rank of the member that made the wrong call. To decide between the ranks
// Rank and Peer, up to four other ranks were asked for their calls. The first of these ranks that made one
// of the two calls decides: the call that it did not make is the wrong one. If none of them made either
// call, or if the two calls are equal, FailureOrigin returns the world rank of Rank or of Peer, whichever is
// lower. If Rank and Peer are of different groups of an Intercomm, it then returns the lower of their world ranks.
func (e *MismatchError) FailureOrigin() int { return e.odd }

// Error implements error.
func (e *MismatchError) Error() string {
	at := func(line string) string {
		if line == "" {
			return ""
		}
		return " at " + line
	}
	text := fmt.Sprintf("%v: rank %d: %s%s", ErrMismatch, e.Rank, e.Call, at(e.Line))
	switch {
	case e.across:
		text += fmt.Sprintf("; rank %d of the other group: %s%s", e.Peer, e.PeerCall, at(e.PeerLine))
	case e.Peer != e.Rank:
		text += fmt.Sprintf("; rank %d: %s%s", e.Peer, e.PeerCall, at(e.PeerLine))
	}
	return text
}

// Is reports whether target is ErrMismatch.
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

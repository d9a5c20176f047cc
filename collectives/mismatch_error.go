package collectives

import (
	"errors"
	"fmt"
)

// ErrMismatch says that members of a communicator did not call the same
// operation, or not with the same length, root or operator.
var ErrMismatch = errors.New("ranks call different collective operations")

// MismatchError names two ranks that call different operations. It is ErrMismatch. The
// communicator is broken by it, so the other ranks get runtime.ErrCommBroken with its text.
type MismatchError struct {
	// Rank is this rank, Peer the other one: a rank of the other group where groups of an Intercomm
	// differ.
	Rank, Peer int
	// Call and PeerCall say what they called, as in "bcast of 8 bytes from root 0".
	// PeerCall is empty if Peer is Rank: then it is not known which rank differs.
	Call, PeerCall string
	// Line and PeerLine are the source lines, as in "main.go:12". PeerLine is empty if the
	// peer does not answer, or does not remember the call: it stores its last calls only.
	Line, PeerLine string
	// odd is the world rank whose call differs from those of the others.
	odd int
	// across says that Peer is a rank of the other group of an Intercomm.
	across bool
}

// FailureOrigin returns the world rank of that one of the two ranks whose call differs from
// that of a third rank, or of the lower one if no other rank knows.
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

// Is makes it ErrMismatch.
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

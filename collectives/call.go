package collectives

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// ErrMismatch says that members of a communicator did not call the same
// operation, or not with the same length, root or operator.
var ErrMismatch = errors.New("ranks call different collective operations")

// MismatchError names two ranks that call different operations. It is ErrMismatch. The
// communicator is broken by it, so the other ranks get runtime.ErrCommBroken with its text.
type MismatchError struct {
	// Rank is this rank, Peer the other one.
	Rank, Peer int
	// Call and PeerCall say what they called, as in "bcast of 8 bytes from root 0".
	// PeerCall is empty if Peer is Rank: then it is not known which rank differs.
	Call, PeerCall string
	// Line and PeerLine are the source lines, as in "main.go:12". PeerLine is empty if the
	// peer does not answer, or does not remember the call: it stores its last calls only.
	Line, PeerLine string
	// odd is the world rank whose call differs from those of the others.
	odd int
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
	if e.Peer != e.Rank {
		text += fmt.Sprintf("; rank %d: %s%s", e.Peer, e.PeerCall, at(e.PeerLine))
	}
	return text
}

// Is makes it ErrMismatch.
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// call is what the members of an operation must agree on.
type call struct {
	op operation
	// root is anyRoot where there is none, operator 0.
	root     int
	operator uint8
	kind     kernel.Kind
	bytes    int
}

const anyRoot = -1

// The word of a call that names all but its length.
//
//	bits 56-63  1 + operation
//	bits 48-55  operator of a reduction, see message.Reduction
//	bits 40-47  kind of the elements
//	bits  0-31  1 + root, 0 without one
const (
	callOperation = 56
	callOperator  = 48
	callKind      = 40
)

func (c call) statement() node.Call {
	return node.Call{
		What:  uint64(c.op+1)<<callOperation | uint64(c.operator)<<callOperator | uint64(c.kind)<<callKind | uint64(c.root+1)&math.MaxUint32,
		Bytes: uint64(c.bytes),
	}
}

// describe is the inverse of statement, in words.
func describe(c node.Call) string {
	if c == (node.Call{}) {
		return "another operation"
	}
	text := operation(c.What>>callOperation - 1).String()
	if c.Bytes > 0 {
		text += fmt.Sprintf(" of %d bytes", c.Bytes)
	}
	kind := kernel.Kind(uint8(c.What >> callKind))
	switch operator := uint8(c.What >> callOperator); operator {
	case 0:
	case message.UserOperator:
		text += " with a Func"
	default:
		text += fmt.Sprintf(" with %v", Builtin(operator-1))
	}
	if c.Bytes > 0 {
		text += fmt.Sprintf(" of %v", kind)
	}
	if root := uint32(c.What); root > 0 {
		text += fmt.Sprintf(", root %d", root-1)
	}
	return text
}

// reduction is the call of a reduction.
func reduction(op operation, root int, r message.Reduction, bytes int) call {
	return call{op: op, root: root, operator: r.Operator, bytes: bytes}
}

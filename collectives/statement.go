package collectives

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// The layout of the word What of a node.Call. It holds everything that the members must agree on,
// except the length.
//
//	bits 56-63  1 + operation
//	bits 48-55  operator of a reduction, see message.Reduction
//	bits 40-47  kind of the elements
//	bits  0-31  1 + root of an operation that has one
//	bits  0-39  checksum of the counts, if all members of the operation know the counts
const (
	callOperation = 56
	callOperator  = 48
	callKind      = checksumBits
)

// statement returns the description of the call on which the members of the operation must agree.
func (k *call) statement() node.Call {
	if k.within != nil {
		return k.within.said
	}
	what := uint64(k.op+1)<<callOperation | uint64(k.Reduction.Operator)<<callOperator | uint64(k.kind)<<callKind | k.counts
	if k.op.Rooted() {
		what |= uint64(k.Root+1) & math.MaxUint32
	}
	return node.Call{What: what, Bytes: uint64(k.bytes)}
}

// describe returns the text of a statement for errors.
func describe(c node.Call) string {
	if c == (node.Call{}) {
		return "another operation"
	}
	if c.What>>callOperation >= uint64(interBarrier) {
		return describeInter(c)
	}
	op := message.Operation(c.What>>callOperation - 1)
	text := op.String()
	if c.Bytes > 0 {
		text += fmt.Sprintf(" of %d bytes", c.Bytes)
	}
	kind := kernel.Kind(uint8(c.What >> callKind))
	text += operatorText(uint8(c.What >> callOperator))
	if c.Bytes > 0 {
		text += fmt.Sprintf(" of %v", kind)
	}
	switch last := c.What & (1<<checksumBits - 1); {
	case last == 0:
	case op.Rooted():
		text += fmt.Sprintf(", root %d", uint32(last)-1)
	default:
		text += fmt.Sprintf(", counts with the checksum %#x", last)
	}
	return text
}

// operatorText returns the text for the operator of a reduction, or "" if there is no operator.
func operatorText(operator uint8) string {
	switch operator {
	case 0:
		return ""
	case message.UserOperator:
		return " with a Func"
	case orderedOperator:
		return " with a Func that does not commute"
	case minLocOperator:
		return " with MinLoc"
	case maxLocOperator:
		return " with MaxLoc"
	}
	return fmt.Sprintf(" with %v", Builtin(operator-1))
}

package collectives

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// interOperation identifies an operation on an Intercomm. Its values are greater than every
// message.Operation, so that the field What of a node.Call can hold an interOperation or a
// message.Operation.
type interOperation uint8

const (
	interBarrier interOperation = 1<<7 + iota
	interBcast
	interReduce
	interAllReduce
	interGather
	interScatter
	interAllGather
	interAllToAll
)

var interNames = [...]string{
	"InterBarrier", "InterBcast", "InterReduce", "InterAllReduce", "InterGather", "InterScatter", "InterAllGather", "InterAllToAll",
}

// String returns the name of the operation's function.
func (o interOperation) String() string {
	if i := int(o) - int(interBarrier); i >= 0 && i < len(interNames) {
		return interNames[i]
	}
	return "another operation"
}

// The layout of the word What in the node.Call of an operation on an Intercomm. The word holds
// everything that the ranks must agree on, except the length. The word of a rank that passes
// runtime.ProcNull has no root. So this word differs from the words of the ranks that take part.
//
//	bits 56-63  interOperation
//	bits 48-55  operator of a reduction
//	bits 40-47  kind of the elements
//	bits 24-39  number of the call. (The numbers of the steps within a group cannot replace it,
//	            because a rank that passes ProcNull executes no steps)
//	bit  23     side of the root's group
//	bits  0-22  1 + root of an operation that has one
//	bits  0-23  checksum of the two block lengths (one of each group), in InterAllGather and InterAllToAll
const (
	interNumber  = 24
	interNumbers = 1 << 16
	interSide    = 23
	interRoots   = 1 << interSide
)

// interRoot returns the bits of the word What for a root. side is the side of the root's group, and
// rank is the root's rank in this group.
func interRoot(side, rank int) uint64 {
	return uint64(side)<<interSide | uint64(1+rank)%interRoots
}

// describeInter returns the text of a call on an Intercomm for errors.
func describeInter(c node.Call) string {
	op := interOperation(c.What >> callOperation)
	text := fmt.Sprintf("%v, call %d,", op, c.What>>interNumber%interNumbers)
	if c.Bytes > 0 {
		text += fmt.Sprintf(" of %d bytes", c.Bytes)
	}
	text += operatorText(uint8(c.What >> callOperator))
	if op != interBarrier {
		text += fmt.Sprintf(" of %v", kernel.Kind(uint8(c.What>>callKind)))
	}
	text = strings.TrimSuffix(text, ",")
	switch root := rootIn(c.What); {
	case root != 0:
		text += fmt.Sprintf(", root %d of the group %s", root-1, [2]string{"with the lower first rank", "with the higher first rank"}[c.What>>interSide&1])
	case op.rooted():
		text += ", root ProcNull"
	case c.What%(1<<interNumber) != 0:
		text += fmt.Sprintf(", lengths with the checksum %#x", c.What%(1<<interNumber))
	}
	return text
}

// rootIn returns 1 + root from the word What of an operation. If the operation has no root, or if the rank has
// passed runtime.ProcNull, rootIn returns 0.
func rootIn(what uint64) int {
	if !interOperation(what >> callOperation).rooted() {
		return 0
	}
	return int(what % interRoots)
}

// rooted reports whether the operation has a root.
func (o interOperation) rooted() bool {
	return o == interBcast || o == interReduce || o == interGather || o == interScatter
}

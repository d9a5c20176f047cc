package message

import (
	"errors"
	"math/bits"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// Peer is one rank's view of a group in which one collective operation runs.
// Messages between two ranks arrive in order and meet no others.
type Peer interface {
	// Rank is this rank, Size the number of ranks.
	Rank() int
	Size() int
	// Send sends b; b may be changed when it returns.
	Send(to int, b []byte) error
	// Recv receives exactly len(b) bytes; another length is an error.
	Recv(from int, b []byte) error
	// Exchange does a Send and a Recv at the same time.
	Exchange(to int, out []byte, from int, in []byte) error
	// Start starts an Exchange, beside others with other ranks. After its error the operation ends.
	Start(to int, out []byte, from int, in []byte) error
	// Complete returns when all exchanges that were started have ended, with the first error.
	Complete() error
	// Scratch returns n bytes of any contents, aligned for every element type.
	// They are valid until the next Scratch or the end of the operation.
	Scratch(n int) []byte
	// Copy copies min(len(dst), len(src)) bytes, whose number it returns, and nothing where
	// both begin at the same byte. Algorithms copy by it alone: a simulation takes the time.
	Copy(dst, src []byte) int
}

// ErrLength is the error of a message or block that has not the length that its receiver expects.
var ErrLength = errors.New("buffer has the wrong length")

// Reduction is an operator bound to an element type.
type Reduction struct {
	// Fn combines vectors.
	Fn kernel.Func
	// Elem is the size of an element in bytes.
	Elem int
	// Commutative allows algorithms to swap operands. In any case they use an order in
	// which all ranks get the same bits.
	Commutative bool
	// Operator and Kind distinguish reductions, which must be equal at all members: 1 +
	// kernel.Code, or UserOperator, and the kernel.Kind of the elements.
	Operator, Kind uint8
}

// UserOperator is the Operator of a user's function.
const UserOperator = 255

// blocks cuts n bytes into parts whole numbers of unit, as equal as they go:
// block i is [off(i), off(i+1)).
type blocks struct{ units, parts, unit int }

// Elements may have no size.
func cut(n, unit, parts int) blocks { return blocks{n / max(unit, 1), parts, unit} }

// off returns where block i begins.
func (b blocks) off(i int) int {
	each, more := b.units/b.parts, b.units%b.parts
	return (i*each + min(i, more)) * b.unit
}

// of returns block i of buf.
func (b blocks) of(buf []byte, i int) []byte { return buf[b.off(i):b.off(i+1)] }

// span returns the blocks [i, j) of buf.
func (b blocks) span(buf []byte, i, j int) []byte { return buf[b.off(i):b.off(j)] }

// powerBelow returns the largest power of two that is at most n.
func powerBelow(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

package message

import (
	"errors"
	"math/bits"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// Peer is one rank's view of a group that executes one collective operation. Messages between two
// ranks arrive in order, and are not matched with messages of other operations.
type Peer interface {
	// Rank returns this rank's number. Size returns the number of ranks.
	Rank() int
	Size() int
	// Send sends b. The caller may change b when Send has returned.
	Send(to int, b []byte) error
	// Recv receives a message of exactly len(b) bytes. If the message has another length, Recv
	// returns an error.
	Recv(from int, b []byte) error
	// Exchange sends a message and receives a message at the same time. It sends the bytes of out
	// to the rank in the argument to. It receives from the rank in the argument from, into the buffer
	// in.
	Exchange(to int, out []byte, from int, in []byte) error
	// Start starts an Exchange and does not wait until it is complete. Exchanges with different
	// ranks may be in progress at the same time. If to is Nobody, Start sends nothing. If from is Nobody, it receives
	// nothing. If Start returns an error, the algorithm must return this error.
	Start(to int, out []byte, from int, in []byte) error
	// Complete waits for all exchanges that were started, and returns the first error.
	Complete() error
	// Scratch returns n bytes with undefined contents, aligned for every element type. The bytes are
	// valid until the next Scratch or the end of the operation.
	Scratch(n int) []byte
	// Copy copies min(len(dst), len(src)) bytes and returns that number. If dst and src begin at the
	// same byte, Copy copies nothing. Algorithms must use only this method to copy, so that a
	// simulation can account for the time.
	Copy(dst, src []byte) int
}

// Nobody takes the place of a rank in a Start that only sends or only receives.
const Nobody = -1

// ErrLength is the error of a message or block whose length is not the length that its receiver
// expects.
var ErrLength = errors.New("buffer has the wrong length")

// Reduction is an operator bound to an element type.
type Reduction struct {
	// Fn combines vectors.
	Fn kernel.Func
	// Elem is the size of an element in bytes.
	Elem int
	// Commutative is true if algorithms may swap operands. Whether it is true or false, an algorithm
	// must order the operands so that all ranks get the same bits.
	Commutative bool
	// Operator and Kind identify the reduction; they must be equal at all members. Operator is 1 +
	// kernel.Code for a built-in operator, or a greater value such as UserOperator for other
	// operators. Kind is the kernel.Kind of the elements.
	Operator, Kind uint8
}

// UserOperator is the Operator of a user's function.
const UserOperator = 255

// blocks divides a buffer into blocks whose lengths differ by at most one unit. units is the number
// of units in the buffer, parts the number of blocks, unit the length of a unit in bytes. Block i is
// the bytes [off(i), off(i+1)).
type blocks struct{ units, parts, unit int }

// cut divides n bytes into blocks; parts is the number of blocks. unit is 0 if the elements have no
// size.
func cut(n, unit, parts int) blocks { return blocks{n / max(unit, 1), parts, unit} }

// off returns the offset of block i in bytes.
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

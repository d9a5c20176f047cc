package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// Wildcards and special ranks.
const (
	// AnySource matches every source if it is passed as the source of a receive or probe.
	AnySource = engine.AnySource
	// AnyTag matches every tag if it is passed as the tag of a receive or probe.
	AnyTag = engine.AnyTag
	// ProcNull is the null rank: a send to it does nothing, and a receive from it returns at
	// once with source ProcNull, tag AnyTag and count 0.
	ProcNull = -2
	// Undefined, passed as the color of a Split, requests no communicator. It is also the result of a lookup
	// that finds no rank, and the index that WaitAny and TestAny return if they return the result of no request.
	Undefined = -32766
	// TagMax is the largest tag.
	TagMax = 1<<30 - 1
)

// Status describes a message that was received or found by a probe.
type Status struct {
	// Source is the rank of the sender in the communicator. In the Message of NewMessage, and in a Message
	// that an actor has received, it is the world rank of the sender.
	Source int
	// Tag is the tag of the message.
	Tag int
	// Bytes is the length of the message in bytes. With a TruncatedError, Bytes is the length of the
	// receive buffer.
	Bytes int

	size int // bytes of an element
}

// Count returns the length of the message in whole elements of the type of the receive buffer. After a probe,
// RecvValue or RecvMessage there is no such type: Count returns the length in bytes, and, except after RecvValue,
// CountOf returns the number of elements. If elements have size 0, Count returns 0.
func (s Status) Count() int { return count(s.Bytes, s.size) }

// count returns the number of whole elements in n bytes. The argument size is the size of an element in bytes; if it
// is 0, the result is 0.
func count(n, size int) int {
	if size == 0 {
		return 0
	}
	return n / size
}

// nullStatus is the Status of an operation whose peer is ProcNull.
var nullStatus = Status{Source: ProcNull, Tag: AnyTag, size: 1}

package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// Wildcards and special ranks.
const (
	// AnySource as a source matches a message of every rank.
	AnySource = engine.AnySource
	// AnyTag as a tag of a receive or probe matches every tag.
	AnyTag = engine.AnyTag
	// ProcNull is the null rank: a send to it does nothing, a receive from it returns at
	// once with source ProcNull, tag AnyTag and count 0.
	ProcNull = -2
	// Undefined as a color of Split requests no communicator; it is also the result of
	// Group lookups that find nothing.
	Undefined = -32766
	// TagMax is the largest tag.
	TagMax = 1<<30 - 1
)

// Status describes a message that was received or found by a probe.
type Status struct {
	// Source is the rank of the sender in the communicator.
	Source int
	// Tag is the tag that the sender gave.
	Tag int
	// Bytes is the length of the message in bytes.
	Bytes int

	size int // bytes of an element
}

// Count returns the length of the message in whole elements of the type it was
// received into. After a probe, which knows no type, it is the length in bytes;
// CountOf tells it in elements. Elements of no size are not counted: 0.
func (s Status) Count() int { return count(s.Bytes, s.size) }

// count returns the number of whole elements of a size in n bytes.
func count(n, size int) int {
	if size == 0 {
		return 0
	}
	return n / size
}

// nullStatus is the result of a receive from ProcNull.
var nullStatus = Status{Source: ProcNull, Tag: AnyTag, size: 1}

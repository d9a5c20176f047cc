package runtime

// Wildcards and special ranks.
const (
	// AnySource as a source matches a message of every rank.
	AnySource = -1
	// AnyTag as a tag of a receive or probe matches every tag.
	AnyTag = -1
	// ProcNull is the rank that is nobody: a send to it does nothing, a receive
	// from it returns at once with source ProcNull, tag AnyTag and count 0.
	ProcNull = -2
	// Undefined as a color of Split asks for no communicator; it is also the
	// result of Group lookups that find nothing.
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

	count int
}

// Count returns the length of the message in whole elements of the type it was
// received into; after a probe, in elements of the type it was sent with.
func (s Status) Count() int { return s.count }

package engine

// Wildcards of a Match for receiving and probing.
const (
	// AnySource matches every sender.
	AnySource = -1
	// AnyTag matches every tag.
	AnyTag = -1
	// TagMax is the largest tag.
	TagMax = 1<<31 - 1
)

// Type names the layout of a message's elements. 0 means bytes and matches
// anything. Ids below TypeNamed are basic kinds and mean the same on every rank;
// the others are this rank's own, and peers learn their text (Config.TypeName)
// before their first use.
type Type uint32

// TypeNamed is the first Type whose text is announced to peers.
const TypeNamed Type = 64

// TypeLabel is the first of the Types that are labels. A library labels its messages with
// them. A label matches only the same label, and has no text.
const TypeLabel Type = 1 << 31

// texted reports whether peers get a text of t before its first use.
func (t Type) texted() bool { return t-TypeNamed < TypeLabel-TypeNamed }

// Mode says when a send is finished.
type Mode uint8

const (
	// Standard ends when the caller's bytes were copied or read.
	Standard Mode = iota
	// Synchronous ends when, in addition, a receive has matched the message.
	Synchronous
)

// Match is the address of a message. For a send Peer is the destination's world
// rank; for a receive or a probe it is the source's, or AnySource, and Tag may be
// AnyTag. Tags of messages lie in [0, TagMax].
type Match struct {
	Context uint32
	Peer    int
	Tag     int
}

// Status describes a message.
type Status struct {
	// Source is the sender's world rank and Tag the message's tag.
	Source, Tag int
	// Bytes is the length of the message; after a receive the number of bytes
	// that were received.
	Bytes int
	// Type is the element type in terms of the sender.
	Type Type
	// Handover says that the message is arena memory that changes its owner.
	Handover bool
}

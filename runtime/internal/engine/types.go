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

// Type is a number for the layout of a message's elements. Type 0 means bytes and matches every
// Type. Types below TypeNamed are basic kinds and mean the same on every rank. Types in
// [TypeNamed, TypeLabel) mean something only on the rank that assigned them. Before the first message
// with such a Type, the engine sends the peer a text of the layout (Config.TypeName).
type Type uint32

// TypeNamed is the first Type whose text is announced to peers.
const TypeNamed Type = 64

// TypeLabel is the first Type that is a label. A library labels its messages with such Types. A
// label matches only the same label and Type 0, and has no text.
const TypeLabel Type = 1 << 31

// texted reports whether t is a Type whose text is announced to peers.
func (t Type) texted() bool { return t-TypeNamed < TypeLabel-TypeNamed }

// Mode determines when a send is finished.
type Mode uint8

const (
	// Standard means that the send is finished when the caller's bytes have been copied or read.
	Standard Mode = iota
	// Synchronous means that, in addition, a receive must have matched the message.
	Synchronous
)

// Match is the address of a message. For a send, Peer is the world rank of the destination. For a
// receive or a probe, Peer is the world rank of the source or AnySource, and Tag may be AnyTag.
// Tags of messages lie in [0, TagMax].
type Match struct {
	Context uint32
	Peer    int
	Tag     int
}

// Status describes a message.
type Status struct {
	// Source is the world rank of the sender. Tag is the tag of the message.
	Source, Tag int
	// Bytes is the length of the message or, after a receive, the number of bytes received.
	Bytes int
	// Type is the element type. The sender has assigned its number.
	Type Type
}

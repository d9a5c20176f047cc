package runtime

import (
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// LabelMax is the largest label.
const LabelMax = 1<<31 - 1

// Label is a number that a library attaches to its messages, such as a fingerprint of
// a collective operation: a receive whose label is not that of the message it matched
// ends with a LabelError, and nothing of the message is copied. Labels take no part in
// matching. The zero value must be Set before its use.
type Label struct{ element element }

// Set makes the label a number of 0..LabelMax. No message with it may be under way at
// this rank.
func (l *Label) Set(number uint32) {
	l.element = element{typ: engine.TypeLabel | engine.Type(number&LabelMax), size: 1, plain: true}
}

// SendLabeled is Send of bytes with a label.
func (c *Comm) SendLabeled(l *Label, b []byte, dest, tag int) error {
	return c.send(&l.element, b, dest, tag, engine.Standard)
}

// RecvLabeled is Recv of bytes with a label.
func (c *Comm) RecvLabeled(l *Label, b []byte, source, tag int) (Status, error) {
	return c.recv(&l.element, b, source, tag)
}

// IsendLabeled is Isend of bytes with a label.
func (c *Comm) IsendLabeled(l *Label, b []byte, dest, tag int) Request {
	return c.isend(&l.element, b, dest, tag, engine.Standard)
}

// IrecvLabeled is Irecv of bytes with a label.
func (c *Comm) IrecvLabeled(l *Label, b []byte, source, tag int) Request {
	return c.irecv(&l.element, b, source, tag)
}

// SendRecvLabeled is SendRecv of bytes with a label, in both directions.
func (c *Comm) SendRecvLabeled(l *Label, send []byte, dest int, recv []byte, source, tag int) (Status, error) {
	return c.sendRecv(&l.element, send, dest, tag, &l.element, recv, source, tag)
}

// LabelError ends a receive of a library whose Label is not that of its message. The
// message is lost, nothing else is. Its fields:
//
//	Source int    // the sender's rank in the communicator
//	Tag    int    // that of the message
//	Sent   uint32 // the label of the message
//	Want   uint32 // that of the receive
type LabelError = engine.LabelError

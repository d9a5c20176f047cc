package runtime

import (
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// LabelMax is the largest label.
const LabelMax = 1<<31 - 1

// Label is a number that a library attaches to its messages, such as a fingerprint of a collective
// operation. If a receive matches a message with another label, the receive ends with a LabelError,
// and nothing of the message is copied. Labels take no part in matching. Set must be called before
// a Label is used.
type Label struct{ element element }

// Set sets the number of the label, 0..LabelMax. No operation of this rank that uses the
// label may be under way.
func (l *Label) Set(number uint32) {
	l.element = element{typ: engine.TypeLabel | engine.Type(number&LabelMax), size: 1, plain: true}
}

// SendLabeled is Send for bytes with a label.
func (c *Comm) SendLabeled(l *Label, b []byte, dest, tag int) error {
	return c.send(&l.element, b, dest, tag, engine.Standard)
}

// RecvLabeled is Recv for bytes with a label.
func (c *Comm) RecvLabeled(l *Label, b []byte, source, tag int) (Status, error) {
	return c.recv(&l.element, b, source, tag)
}

// IsendLabeled is Isend for bytes with a label.
func (c *Comm) IsendLabeled(l *Label, b []byte, dest, tag int) Request {
	return c.isend(&l.element, b, dest, tag, engine.Standard)
}

// IrecvLabeled is Irecv for bytes with a label.
func (c *Comm) IrecvLabeled(l *Label, b []byte, source, tag int) Request {
	return c.irecv(&l.element, b, source, tag)
}

// SendRecvLabeled is SendRecv for bytes, with the same label for the send and the receive.
func (c *Comm) SendRecvLabeled(l *Label, send []byte, dest int, recv []byte, source, tag int) (Status, error) {
	return c.sendRecv(&l.element, send, dest, tag, &l.element, recv, source, tag)
}

// LabelError ends a receive with a Label that differs from the label of the message that the receive
// matched. The message is lost. Other operations are not affected. The fields of a LabelError:
//
//	Source int    // the sender's rank in the communicator
//	Tag    int    // the tag of the message
//	Sent   uint32 // the label of the message
//	Want   uint32 // the label of the receive
type LabelError = engine.LabelError

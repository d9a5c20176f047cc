package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// Message is a message together with its memory, see RecvMessage. It belongs to
// one goroutine at a time.
type Message struct {
	// Status describes the message. Its Count is in bytes: CountOf and View tell
	// the elements.
	Status Status

	buffer Buffer
}

// RecvMessage receives a message of any length and element type with its memory:
// that of the sender's Buffer if it comes from SendBuffer on this node, so nothing
// is copied, else new memory. The caller owns it and ends it by Release or
// SendBuffer.
func RecvMessage(c *Comm, source, tag int) (*Message, error) {
	if c == nil {
		return nil, ErrComm
	}
	from, err := c.from(source, tag)
	if err != nil {
		return nil, err
	}
	w := c.core.world
	if from.Peer == ProcNull {
		return &Message{Status: nullStatus, buffer: Buffer{world: w, message: new(engine.Message)}}, nil
	}
	m, err := c.engine.RecvMessage(c.ctx, from, 0)
	if err != nil {
		return nil, c.failed(err)
	}
	return &Message{
		Status: c.status(m.Status, 1),
		buffer: Buffer{world: w, bytes: m.Bytes, message: m},
	}, nil
}

// Buffer returns the message's memory, the same Buffer each time.
func (m *Message) Buffer() *Buffer { return &m.buffer }

// Bytes returns the message's bytes, like Buffer.Bytes.
func (m *Message) Bytes() []byte { return m.buffer.Bytes() }

// Release is Buffer.Release.
func (m *Message) Release() { m.buffer.Release() }

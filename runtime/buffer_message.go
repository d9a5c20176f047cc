package runtime

import (
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Message is a message together with its memory, see RecvMessage. It belongs to
// one goroutine at a time.
type Message struct {
	// Status describes the message. Its Count is in bytes; CountOf returns the number of elements,
	// and View returns the elements.
	Status Status

	buffer Buffer
	// carried is the engine's message; used only if RecvMessage received the message.
	carried engine.Message
}

// RecvMessage receives a message of any length and element type together with its memory. If the
// message was sent by SendBuffer on this node, the Message has the memory that SendBuffer handed over, and
// RecvMessage copies nothing. Otherwise the Message has new memory. The caller owns the Message and ends it by
// Close or by SendBuffer of its Buffer. If there is no memory for the message, the error is a
// MemoryError.
func RecvMessage(c *Comm, source, tag int) (*Message, error) {
	if c == nil {
		return nil, callsite.At(ErrComm)
	}
	from, err := c.from(source, tag)
	if err != nil {
		return nil, err
	}
	w := c.core.world
	if from.Peer == ProcNull {
		return &Message{Status: nullStatus, buffer: Buffer{world: w, message: new(engine.Message)}}, nil
	}
	w.check.race(c, from)
	m := new(Message) // allocated before the wait, not after it
	if m.carried, err = c.engine.RecvMessage(c.ctx, from); err != nil {
		return nil, c.failed(err)
	}
	m.Status = c.status(m.carried.Status, 1)
	m.buffer = Buffer{world: w, lease: arena.Lease{Bytes: m.carried.Bytes}, message: &m.carried}
	w.check.opened(&m.buffer, "nobody closed the Message received")
	return m, nil
}

// Buffer returns the message's memory. Every call returns the same Buffer.
func (m *Message) Buffer() *Buffer { return &m.buffer }

// Bytes returns the message's bytes, like Buffer.Bytes.
func (m *Message) Bytes() []byte { return m.buffer.Bytes() }

// Close is Buffer.Close.
func (m *Message) Close() { m.buffer.Close() }

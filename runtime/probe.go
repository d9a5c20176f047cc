package runtime

import (
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Probe waits until a message that matches source and tag can be received, and returns
// its Status. The message stays in the queue, so another goroutine may receive it before
// the caller does. A probe of ProcNull returns at once.
func Probe(c *Comm, source, tag int) (Status, error) {
	in, err := c.incoming(byteElement, nil, source, tag)
	if err != nil || in.from.Peer == ProcNull {
		return nullStatus, err
	}
	s, err := c.engine.Probe(c.ctx, in.from)
	if err != nil {
		return Status{}, c.failed(err)
	}
	return c.status(s, 1), nil
}

// Iprobe is Probe without waiting: it also reports whether there was a message. For ProcNull it reports
// true.
func Iprobe(c *Comm, source, tag int) (Status, bool, error) {
	in, err := c.incoming(byteElement, nil, source, tag)
	if err != nil || in.from.Peer == ProcNull {
		return nullStatus, err == nil, err
	}
	s, ok, err := c.engine.Iprobe(in.from)
	if err != nil {
		return Status{}, false, c.failed(err)
	}
	if !ok {
		return Status{}, false, nil
	}
	return c.status(s, 1), true, nil
}

// Mprobe waits until a message that matches source and tag can be received, and takes it
// out of the queue. After that only RecvMatched or IrecvMatched can receive the message, and one of
// them must be called. For ProcNull, Mprobe returns a message without elements at once.
func Mprobe(c *Comm, source, tag int) (*Matched, error) {
	in, err := c.incoming(byteElement, nil, source, tag)
	if err != nil {
		return nil, err
	}
	if in.from.Peer == ProcNull {
		return &Matched{comm: c, status: nullStatus}, nil
	}
	m, err := c.engine.Mprobe(c.ctx, in.from)
	if err != nil {
		return nil, c.failed(err)
	}
	return c.matched(m), nil
}

// Improbe is Mprobe without waiting: it returns nil and false if there is no
// message.
func Improbe(c *Comm, source, tag int) (*Matched, bool, error) {
	in, err := c.incoming(byteElement, nil, source, tag)
	if err != nil {
		return nil, false, err
	}
	if in.from.Peer == ProcNull {
		return &Matched{comm: c, status: nullStatus}, true, nil
	}
	m, ok, err := c.engine.Improbe(in.from)
	if err != nil {
		return nil, false, c.failed(err)
	}
	if !ok {
		return nil, false, nil
	}
	return c.matched(m), true, nil
}

// Matched is a message that Mprobe or Improbe took out of the queue. It belongs to one
// goroutine at a time.
type Matched struct {
	comm   *Comm
	status Status
	// message is the engine's matched message, nil for ProcNull.
	message  *engine.Matched
	received bool
}

// matched returns a matched message of the engine as a Matched.
func (c *Comm) matched(m *engine.Matched) *Matched {
	matched := &Matched{comm: c, status: c.status(m.Status(), 1), message: m}
	c.core.check.opened(matched, "nobody received the message probed")
	return matched
}

// Status describes the message; see Probe.
func (m *Matched) Status() Status { return m.status }

// RecvMatched receives the message into buf. A message can be received only once.
func RecvMatched[T any](m *Matched, buf []T) (Status, error) {
	e := elementOf[T]()
	if err := m.take(e); err != nil || m.message == nil {
		return nullStatus, err
	}
	s, err := m.message.Recv(m.comm.ctx, e.typ, bytesOf(buf))
	if err != nil {
		err = m.comm.failed(err)
	}
	return m.comm.status(s, e.size), err
}

// IrecvMatched starts to receive the message into buf. A message can be received only once.
func IrecvMatched[T any](m *Matched, buf []T) Request {
	e := elementOf[T]()
	if err := m.take(e); err != nil || m.message == nil {
		return unstarted(err)
	}
	p := m.comm.core.check.start("IrecvMatched", bytesOf(buf), false)
	return m.comm.receiving(e, m.message.Irecv(e.typ, bytesOf(buf))).watched(p)
}

// take marks the message as received. take fails if m is nil, if the message was received already, or
// if elements of type e cannot be received.
func (m *Matched) take(e *element) error {
	switch {
	case m == nil:
		return callsite.At(fmt.Errorf("%w: no matched message", ErrRequest))
	case m.received:
		return callsite.At(fmt.Errorf("%w: the message was received already", ErrRequest))
	case e.err != nil:
		return callsite.At(e.err)
	}
	m.taken()
	return nil
}

// taken records that the message was received.
func (m *Matched) taken() {
	m.received = true
	m.comm.core.check.closed(m)
}

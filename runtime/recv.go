package runtime

import (
	"cmp"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Recv receives one message into buf. If the message is longer than buf, Recv fills buf and returns
// a TruncatedError. A shorter message is no error: Status.Count returns its length. A Recv from
// AnySource ends with a PeerError if no matching message has arrived and a member is lost whose loss this
// rank has not acknowledged with Comm.Ack.
func Recv[T any](c *Comm, buf []T, source, tag int) (Status, error) {
	return c.recv(elementOf[T](), bytesOf(buf), source, tag)
}

// Irecv starts a Recv. buf must not be accessed until the request is complete.
func Irecv[T any](c *Comm, buf []T, source, tag int) Request {
	return c.irecv(elementOf[T](), bytesOf(buf), source, tag)
}

// recv is Recv into the bytes b of elements of type e.
func (c *Comm) recv(e *element, b []byte, source, tag int) (Status, error) {
	if c == nil || e.err != nil {
		return nullStatus, callsite.At(c.cause(e))
	}
	from, err := c.from(source, tag)
	if err != nil || from.Peer == ProcNull {
		return nullStatus, err
	}
	var p *watched
	if c.core.check != nil {
		p = c.core.check.start("Recv", b, false)
		c.core.check.race(c, from)
	}
	s, err := c.engine.Recv(c.ctx, from, e.typ, b)
	if p != nil {
		p.end()
	}
	if err != nil {
		err = c.failed(err)
	}
	if c.ranks != nil {
		s.Source = c.rankOf(s.Source)
	}
	return Status{Source: s.Source, Tag: s.Tag, Bytes: s.Bytes, size: e.size}, err
}

// incoming is a receive whose arguments have been checked.
type incoming struct {
	from engine.Match // Peer may be ProcNull
	e    *element
	b    []byte
}

// incoming checks the arguments of a receive of elements of type e into the bytes b.
func (c *Comm) incoming(e *element, b []byte, source, tag int) (incoming, error) {
	if c == nil || e.err != nil {
		return incoming{}, callsite.At(c.cause(e))
	}
	from, err := c.from(source, tag)
	return incoming{from, e, b}, err
}

// cause returns why elements of type e cannot be received on c.
func (c *Comm) cause(e *element) error { return cmp.Or(c.Err(), e.err) }

// from checks the source and the tag of a receive or a probe, and returns what the engine
// matches. AnySource and AnyTag have the same values in the engine. If Peer of the result is ProcNull, the
// caller must not call the engine.
func (c *Comm) from(source, tag int) (engine.Match, error) {
	m := engine.Match{Context: c.id, Peer: source, Tag: tag}
	if uint(tag) > TagMax && tag != AnyTag || c.core.failure.Load() != nil {
		return m, callsite.At(c.unreceivable(tag))
	}
	if uint(source) < uint(c.size) {
		if c.ranks != nil {
			m.Peer = c.ranks[source]
		}
		return m, nil
	}
	if source == AnySource || source == ProcNull {
		return m, nil
	}
	return m, callsite.At(fmt.Errorf("%w: source %d in communicator %s of %d", ErrRank, source, c.core.name, c.size))
}

// unreceivable returns why no message with this tag can be received on c: c was closed or broken, or the tag
// is wrong.
func (c *Comm) unreceivable(tag int) error { return cmp.Or(c.Err(), checkTag(tag)) }

// status converts a status of the engine to a Status of this communicator. size is the size of an
// element in bytes.
func (c *Comm) status(s engine.Status, size int) Status {
	source := s.Source
	if c.ranks != nil {
		source = c.rankOf(source)
	}
	return Status{Source: source, Tag: s.Tag, Bytes: s.Bytes, size: size}
}

// irecv is Irecv into the bytes b of elements of type e.
func (c *Comm) irecv(e *element, b []byte, source, tag int) Request {
	if c == nil || e.err != nil {
		return c.refused("Irecv", callsite.At(c.cause(e)))
	}
	from, err := c.from(source, tag)
	if err != nil || from.Peer == ProcNull {
		return c.refused("Irecv", err)
	}
	if c.core.check != nil {
		p := c.core.check.start("Irecv", b, false)
		c.core.check.race(c, from)
		return c.receiving(e, c.engine.Irecv(from, e.typ, b)).watched(p)
	}
	return c.receiving(e, c.engine.Irecv(from, e.typ, b))
}

// receiving returns the Request of a receive of elements of type e that was started.
func (c *Comm) receiving(e *element, operation engine.Handle) Request {
	operation.Unit = int32(e.size)
	return Request{comm: c, operation: operation}
}

// refused returns the Request of an operation that was not started. The reason is err or, if err is
// nil, that the peer of the operation is ProcNull. The argument what is the name of the operation. With a
// check, an error that the program does not take is a finding.
func (c *Comm) refused(what string, err error) Request {
	r := unstarted(err)
	if c != nil && err != nil {
		r.rest.watched = c.core.check.start(what, nil, false)
	}
	return r
}

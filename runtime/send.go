package runtime

import (
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Send sends buf to dest and returns when buf may be changed. The Send of a large message waits for
// the matching receive. The Send of a small message waits for it only if the receiver has no room left
// for unexpected messages. Any Send may wait for the connection to another node or for room in the lane.
// With GORUN_CHECK=1, a Send of the program always waits for the matching receive.
func Send[T any](c *Comm, buf []T, dest, tag int) error {
	return c.send(elementOf[T](), bytesOf(buf), dest, tag, engine.Standard)
}

// Ssend is Send, but returns only after a receive has matched the message.
func Ssend[T any](c *Comm, buf []T, dest, tag int) error {
	return c.send(elementOf[T](), bytesOf(buf), dest, tag, engine.Synchronous)
}

// Isend starts a Send. buf must not be changed until the request is complete. Wait returns
// the error. The send also completes if Wait is never called.
func Isend[T any](c *Comm, buf []T, dest, tag int) Request {
	return c.isend(elementOf[T](), bytesOf(buf), dest, tag, engine.Standard)
}

// Issend starts an Ssend.
func Issend[T any](c *Comm, buf []T, dest, tag int) Request {
	return c.isend(elementOf[T](), bytesOf(buf), dest, tag, engine.Synchronous)
}

// send is Send and Ssend of the bytes b of elements of type e.
func (c *Comm) send(e *element, b []byte, dest, tag int, mode engine.Mode) error {
	if !c.ordinary(e, dest, tag) {
		return c.sendOdd(e, b, dest, tag, mode)
	}
	if c.ranks != nil {
		dest = c.ranks[dest]
	}
	var p *watched
	if c.core.check != nil {
		p = c.core.check.start("Send", b, true)
		mode = c.core.check.mode(c, mode)
	}
	err := c.engine.Send(c.ctx, engine.Match{Context: c.id, Peer: dest, Tag: tag}, e.typ, b, mode)
	if p != nil {
		p.end()
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

// ordinary reports whether a send can be passed to the engine as it is. This requires that dest is a member (not
// ProcNull), that the tag is valid, that the elements need no packing, and that c can be used.
func (c *Comm) ordinary(e *element, dest, tag int) bool {
	return c != nil && e.plain && uint(dest) < uint(c.size) && uint(tag) <= TagMax && c.core.failure.Load() == nil
}

// sendOdd handles the sends that are not ordinary: with wrong arguments, to ProcNull, of
// elements with padding, or on a communicator that was closed or broken.
func (c *Comm) sendOdd(e *element, b []byte, dest, tag int, mode engine.Mode) error {
	o, err := c.outgoing(e, b, dest, tag)
	if err != nil || o.to.Peer == ProcNull {
		return err
	}
	k := c.core.check
	p := k.start("Send", b, true)
	defer p.end()
	if err := c.engine.Send(c.ctx, o.to, e.typ, o.b, k.mode(c, mode)); err != nil {
		return c.failed(err)
	}
	return nil
}

// outgoing is a message to be sent whose arguments have been checked.
type outgoing struct {
	to engine.Match // Peer may be ProcNull
	e  *element
	b  []byte
}

// outgoing checks the arguments of a send of the bytes b, and packs the elements if they
// have padding.
func (c *Comm) outgoing(e *element, b []byte, dest, tag int) (outgoing, error) {
	o := outgoing{engine.Match{Peer: ProcNull, Tag: tag}, e, b}
	if err := c.Err(); err != nil {
		return o, callsite.At(err)
	}
	if e.err != nil {
		return o, callsite.At(e.err)
	}
	if err := checkTag(tag); err != nil {
		return o, callsite.At(err)
	}
	if dest == ProcNull {
		return o, nil
	}
	if err := c.checkPeer(dest); err != nil {
		return o, callsite.At(err)
	}
	if !e.plain {
		o.b = e.pack(b)
	}
	o.to = engine.Match{Context: c.id, Peer: c.WorldRank(dest), Tag: tag}
	return o, nil
}

// isend is Isend and Issend of the bytes b of elements of type e.
func (c *Comm) isend(e *element, b []byte, dest, tag int, mode engine.Mode) Request {
	to := engine.Match{Peer: dest, Tag: tag}
	if c.ordinary(e, dest, tag) {
		to.Context = c.id
		if c.ranks != nil {
			to.Peer = c.ranks[dest]
		}
	} else {
		o, err := c.outgoing(e, b, dest, tag)
		if err != nil || o.to.Peer == ProcNull {
			return c.refused("Isend", err)
		}
		to, b = o.to, o.b
	}
	var p *watched
	if c.core.check != nil {
		p, mode = c.core.check.start("Isend", b, true), c.core.check.mode(c, mode)
	}
	r := Request{comm: c, operation: c.engine.Isend(to, e.typ, b, mode)}
	r.operation.Unit = sendUnit
	if p != nil {
		return r.watched(p)
	}
	return r
}

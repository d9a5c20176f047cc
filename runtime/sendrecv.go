package runtime

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// SendRecv sends and receives at the same time, so that ranks which exchange messages do not
// deadlock. send and recv must not overlap.
func SendRecv[S, R any](c *Comm, send []S, dest, sendTag int, recv []R, source, recvTag int) (Status, error) {
	return c.sendRecv(elementOf[S](), bytesOf(send), dest, sendTag, elementOf[R](), bytesOf(recv), source, recvTag)
}

// SendRecvReplace is SendRecv with one buffer: it sends a copy of the contents of buf and receives
// into buf.
func SendRecvReplace[T any](c *Comm, buf []T, dest, sendTag, source, recvTag int) (Status, error) {
	e, b := elementOf[T](), bytesOf(buf)
	return c.sendRecv(e, slices.Clone(b), dest, sendTag, e, b, source, recvTag)
}

// sendRecv is SendRecv of the bytes sb and rb of elements of types se and re.
func (c *Comm) sendRecv(se *element, sb []byte, dest, sendTag int, re *element, rb []byte, source, recvTag int) (Status, error) {
	if overlap(sb, rb) {
		return Status{}, callsite.At(fmt.Errorf("%w: send and recv of SendRecv; use SendRecvReplace", ErrAlias))
	}
	out, err := c.outgoing(se, sb, dest, sendTag)
	if err != nil {
		return Status{}, err
	}
	in, err := c.incoming(re, rb, source, recvTag)
	if err != nil {
		return Status{}, err
	}
	if k := c.core.check; k != nil {
		p, q := k.start("SendRecv", sb, true), k.start("SendRecv", rb, false)
		defer p.end()
		defer q.end()
		k.race(c, in.from)
	}
	return c.exchange(out, in)
}

// exchange posts the receive, sends, and waits for the receive.
func (c *Comm) exchange(out outgoing, in incoming) (Status, error) {
	if in.from.Peer == ProcNull {
		if out.to.Peer == ProcNull {
			return nullStatus, nil
		}
		if err := c.engine.Send(c.ctx, out.to, out.e.typ, out.b, c.core.check.mode(c, engine.Standard)); err != nil {
			return nullStatus, c.failed(err)
		}
		return nullStatus, nil
	}
	if out.to.Peer == ProcNull {
		s, err := c.engine.Recv(c.ctx, in.from, in.e.typ, in.b)
		if err != nil {
			err = c.failed(err)
		}
		return c.status(s, in.e.size), err
	}
	r := c.engine.Irecv(in.from, in.e.typ, in.b)
	sendErr := c.engine.Send(c.ctx, out.to, out.e.typ, out.b, c.core.check.mode(c, engine.Standard))
	if sendErr != nil {
		r.Cancel()
	}
	s, err := r.Wait(c.ctx)
	if sendErr != nil {
		err = sendErr // the receive may have ended only because of the send's error
	}
	if err != nil {
		err = c.failed(err)
	}
	return c.status(s, in.e.size), err
}

package runtime

import (
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Persistent is an operation that is set up once and started many times. It
// belongs to one goroutine at a time.
type Persistent struct {
	comm      *Comm
	element   *element
	buf       []byte
	peer, tag int
	direction direction
	mode      engine.Mode
	// launch starts an operation of a library. It is nil for a send or a receive.
	launch  func() Request
	request Request
	// state records whether an operation was started whose result was not returned yet, and whether Close
	// was called.
	state persistentState
}

// direction distinguishes sends from receives.
type direction uint8

const (
	sending direction = iota
	receiving
)

// persistentState is the state of a Persistent between its calls.
type persistentState uint8

const (
	persistentIdle persistentState = iota
	persistentStarted
	persistentClosed
)

// SendInit sets up a Send of buf. Each Start sends the contents that buf has at that time.
func SendInit[T any](c *Comm, buf []T, dest, tag int) *Persistent {
	p := &Persistent{comm: c, element: elementOf[T](), buf: bytesOf(buf), peer: dest, tag: tag}
	if c != nil {
		c.core.check.opened(p, "nobody closed the persistent operation made")
	}
	return p
}

// SsendInit sets up an Ssend.
func SsendInit[T any](c *Comm, buf []T, dest, tag int) *Persistent {
	p := SendInit(c, buf, dest, tag)
	p.mode = engine.Synchronous
	return p
}

// RecvInit sets up a Recv into buf.
func RecvInit[T any](c *Comm, buf []T, source, tag int) *Persistent {
	p := SendInit(c, buf, source, tag)
	p.direction = receiving
	return p
}

// Start starts the operation. It fails with ErrRequest after Close, and as long as
// Wait or Test has not returned the result of the previous start. If the operation cannot be started for
// another reason, such as a wrong rank, Start returns nil, and Wait or Test returns the error.
func (p *Persistent) Start() error {
	switch p.state {
	case persistentStarted:
		return callsite.At(fmt.Errorf("%w: started twice", ErrRequest))
	case persistentClosed:
		return callsite.At(fmt.Errorf("%w: closed", ErrRequest))
	default:
	}
	switch {
	case p.launch != nil:
		p.request = p.launch()
	case p.direction == receiving:
		p.request = p.comm.irecv(p.element, p.buf, p.peer, p.tag)
	default:
		p.request = p.comm.isend(p.element, p.buf, p.peer, p.tag, p.mode)
	}
	p.state = persistentStarted
	return nil
}

// Wait waits for the end of the operation that was started last, and returns its result. Wait returns an empty Status
// at once if no operation was started, if the result was returned before, or if Close was called.
func (p *Persistent) Wait() (Status, error) {
	if p.state != persistentStarted {
		return emptyStatus, nil
	}
	s, err := p.request.Wait()
	if !p.request.continues(err) {
		p.state = persistentIdle
	}
	return s, err
}

// Test reports whether the operation that was started last has ended. If it has ended, Test returns
// the result. Where Wait returns an empty Status at once, Test returns it, too, and reports true.
func (p *Persistent) Test() (Status, bool, error) {
	if p.state != persistentStarted {
		return emptyStatus, true, nil
	}
	s, ok, err := p.request.Test()
	if ok {
		p.state = persistentIdle
	}
	return s, ok, err
}

// Request returns the request of the operation that was started last, for WaitAll and similar
// functions. It returns the zero Request in the cases in which Wait returns an empty Status at once.
// Waiting for the request takes the result; Wait or Test of the Persistent must still be called before
// the next Start.
func (p *Persistent) Request() Request {
	if p.state != persistentStarted {
		return Request{}
	}
	return p.request
}

// Cancel cancels the operation that was started last, as Request.Cancel does.
func (p *Persistent) Cancel() {
	if p.state == persistentStarted {
		p.request.Cancel()
	}
}

// Close ends the use of the Persistent. An operation that is under way completes without Wait.
func (p *Persistent) Close() {
	p.state = persistentClosed
	if p.comm != nil {
		p.comm.core.check.closed(p)
	}
}

// StartAll starts the operations in order, up to the first one whose Start returns an error. It returns this error.
func StartAll(operations []*Persistent) error {
	for _, p := range operations {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

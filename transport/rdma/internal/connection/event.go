package connection

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// handle serves an event of the connection.
func (c *Connection) handle(e *rdmacm.Event) {
	if c.phase == phaseEnded {
		return // a goroutine is about to destroy the id
	}
	switch e.Kind {
	case rdmacm.AddressResolved:
		c.resolved()
	case rdmacm.RouteResolved:
		c.routed()
	case rdmacm.ConnectResponse:
		c.answered(e)
	case rdmacm.Established:
		c.confirmed(e)
	case rdmacm.Rejected:
		c.rejected(e)
	case rdmacm.AddressError, rdmacm.RouteError:
		c.fail(provider.FailureUnreachable, nil, e.Err())
	case rdmacm.Unreachable:
		why := provider.FailureUnreachable
		if c.device.IWARP && c.contacted {
			why = provider.FailureTimedOut
		}
		c.fail(why, nil, e.Err())
	case rdmacm.ConnectError:
		c.fail(provider.FailureRefused, nil, e.Err())
	case rdmacm.Disconnected:
		c.disconnected(e)
	case rdmacm.DeviceRemoval:
		if c.phase == phaseEstablished || c.phase == phaseDisconnecting {
			c.Break(e.Err())
		} else {
			c.fail(provider.FailureRefused, nil, e.Err())
		}
	default: // TimewaitExit, and what a newer kernel says
	}
}

// resolved goes on with the route.
func (c *Connection) resolved() {
	a, err := c.device.owns(c.id)
	if err == nil {
		c.local = a.Source
		c.enter(phaseRouting)
		err = c.id.ResolveRoute(routeTimeout)
	}
	if err != nil {
		c.fail(provider.FailureRefused, nil, err)
	}
}

// routed sends the request.
func (c *Connection) routed() {
	c.enter(phaseConnecting)
	err := c.modify(rdmacm.StateInit)
	switch {
	case err != nil:
		c.fail(provider.FailureRefused, nil, err)
	case c.device.IWARP:
		c.device.mu.Lock()
		c.busy = true
		c.device.mu.Unlock()
		go c.connect(c.id, &c.parameters)
	default:
		if err = c.id.Connect(&c.parameters); err != nil {
			c.fail(provider.FailureRefused, nil, err)
			return
		}
		c.contacted = true
	}
}

// connect gives the command that may block.
func (c *Connection) connect(id *rdmacm.ID, p *rdmacm.Parameters) {
	err := id.Connect(p)
	d := c.device
	d.mu.Lock()
	abandoned := c.abandoned
	if !abandoned {
		c.busy = false
		d.results = append(d.results, result{c, err})
		if !d.closed {
			d.Stir()
			d.Wake()
		}
	}
	d.mu.Unlock()
	if abandoned {
		c.end(id)
	}
}

// connected takes the result of it. Events may have been faster.
func (c *Connection) connected(err error) {
	switch {
	case c.phase != phaseConnecting:
	case err == nil:
		c.contacted = true
	case errors.Is(err, unix.ETIMEDOUT), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		c.fail(provider.FailureUnreachable, nil, err)
	default:
		c.fail(provider.FailureRefused, nil, err)
	}
}

// modify prepares the queue pair for its next state. The kernel takes read depths from the
// peer's answer as they are; the queue pair gets no more than was agreed to.
func (c *Connection) modify(next rdmacm.State) error {
	a, err := c.id.Attributes(next)
	if err != nil || a.Mask == 0 {
		return err
	}
	if c.phase == phaseAccepting {
		a.ReadsServed, a.Reads = c.parameters.ResponderResources, c.parameters.InitiatorDepth
	} else {
		a.ReadsServed, a.Reads = min(a.ReadsServed, c.parameters.ResponderResources), min(a.Reads, c.parameters.InitiatorDepth)
	}
	return c.pair.Modify(&a)
}

// ready brings the queue pair into the state in which it sends.
func (c *Connection) ready() error {
	for _, next := range []rdmacm.State{rdmacm.StateReady, rdmacm.StateSend} {
		if err := c.modify(next); err != nil {
			return err
		}
	}
	return nil
}

// answered confirms the peer's answer: the connection stands. The first state is entered
// once more, because the kernel knows only now what access the peer has.
func (c *Connection) answered(e *rdmacm.Event) {
	err := c.modify(rdmacm.StateInit)
	if err == nil {
		err = c.ready()
	}
	if err == nil {
		err = c.id.Accept(nil)
	}
	if err != nil {
		c.fail(provider.FailureRefused, nil, err)
		return
	}
	c.establish(c.device.answer(&e.Parameters))
}

// confirmed is the kernel's word that the connection stands.
func (c *Connection) confirmed(e *rdmacm.Event) {
	switch c.phase {
	case phaseAccepting:
		c.establish(nil)
	case phaseConnecting:
		c.establish(c.device.answer(&e.Parameters))
	default: // it stood already
	}
}

// establish reports it.
func (c *Connection) establish(answer *provider.Proposal) {
	c.contacted = true
	c.enter(phaseEstablished)
	if a, err := c.device.addresses(c.id); err == nil {
		c.local = a.Source
	}
	if c.upcalls.Established(answer, c.local, c.remote) != nil {
		c.Abort()
	}
}

// rejected ends an attempt.
func (c *Connection) rejected(e *rdmacm.Event) {
	why, data := provider.FailureRefused, e.Parameters.PrivateData
	switch {
	case isRefusal(data):
		data = nil
	case e.Status == rdmacm.ReasonConsumer, e.Status == -int32(unix.ECONNRESET):
		why = provider.FailureRejected
	}
	c.fail(why, data, e.Err())
}

// disconnected ends a connection, after the messages that came before.
func (c *Connection) disconnected(e *rdmacm.Event) {
	if c.phase != phaseEstablished && c.phase != phaseDisconnecting {
		c.fail(provider.FailureRefused, nil, fmt.Errorf("%v before it was established: %w", e.Kind, unix.ECONNRESET))
		return
	}
	c.pair.Take()
	if c.phase == phaseEnded {
		return // it found a failure
	}
	_ = c.id.Disconnect() // the answer, on InfiniBand
	c.pair.Fail()
	c.release()
	if err := e.Err(); err != nil {
		c.upcalls.Broken(err)
		return
	}
	c.upcalls.Disconnected()
}

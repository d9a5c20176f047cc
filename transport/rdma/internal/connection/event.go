package connection

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// handle handles an event of the connection.
func (c *Connection) handle(e *rdmacm.Event) {
	if c.phase == phaseEnded {
		return // a goroutine will destroy the id
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
	default: // TimewaitExit, and events that only newer kernels have
	}
}

// resolved begins to resolve the route, after the address was resolved.
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

// routed sends the request, after the route was resolved.
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

// connect executes the command Connect, which may block, and stores its result for Progress. If the
// connection was abandoned during the command, connect destroys the id instead.
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

// connected handles the result of the command Connect. Events that arrived during the command may
// have changed the phase.
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

// modify moves the queue pair to its next state. The attributes that the kernel returns contain the
// read depths of the peer's answer unchanged. On the active side, modify limits these depths to the
// depths that this side has proposed. On the passive side, modify sets the depths that this side
// has answered.
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

// ready moves the queue pair to the state in which it receives, and then to the state in which it
// sends.
func (c *Connection) ready() error {
	for _, next := range []rdmacm.State{rdmacm.StateReady, rdmacm.StateSend} {
		if err := c.modify(next); err != nil {
			return err
		}
	}
	return nil
}

// answered confirms the peer's answer. The confirmation establishes the connection. answered sets
// StateInit once more, because the kernel knows the access rights of the peer only after the
// answer.
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

// confirmed handles the event that the connection is established.
func (c *Connection) confirmed(e *rdmacm.Event) {
	switch c.phase {
	case phaseAccepting:
		c.establish(nil)
	case phaseConnecting:
		c.establish(c.device.answer(&e.Parameters))
	default: // the connection was established before this event
	}
}

// establish enters phaseEstablished and calls Upcalls.Established.
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

// rejected ends an attempt that the peer, or its kernel, has rejected. For a rejection by the consumer, the driver siw
// reports ECONNRESET. The drivers irdma and cxgb4 report ECONNREFUSED with the private data, and ECONNREFUSED without
// private data if nobody listens.
func (c *Connection) rejected(e *rdmacm.Event) {
	why, data := provider.FailureRefused, e.Parameters.PrivateData
	switch {
	case isRefusal(data):
		data = nil
	case e.Status == rdmacm.ReasonConsumer, e.Status == -int32(unix.ECONNRESET), e.Status == -int32(unix.ECONNREFUSED) && len(data) > 0:
		why = provider.FailureRejected
	}
	c.fail(why, data, e.Err())
}

// disconnected takes the completions of the messages that arrived before the end of the connection,
// and then ends the connection.
func (c *Connection) disconnected(e *rdmacm.Event) {
	if c.phase != phaseEstablished && c.phase != phaseDisconnecting {
		c.fail(provider.FailureRefused, nil, fmt.Errorf("%v before it was established: %w", e.Kind, unix.ECONNRESET))
		return
	}
	c.pair.Take()
	if c.phase == phaseEnded {
		return // Take found a failure, and ended the connection
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

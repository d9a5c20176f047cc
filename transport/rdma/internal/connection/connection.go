package connection

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// addressTimeout bounds the time in which the kernel resolves the address of a peer, and
// routeTimeout the time in which it resolves the route to the peer. If a host does not answer, the
// kernel asks it three times within addressTimeout (ARP, neighbor discovery). routeTimeout is long
// enough for a busy subnet manager.
const (
	addressTimeout = 4 * time.Second
	routeTimeout   = 30 * time.Second
)

// phase is the state of a connection.
type phase uint8

const (
	phaseUnused phase = iota
	phaseResolving
	phaseRouting
	phaseConnecting
	phaseAccepting
	phaseEstablished
	phaseDisconnecting
	phaseEnded
)

// Connection is the connection of one queue pair, which embeds it.
type Connection struct {
	device        *Device
	pair          Pair
	upcalls       provider.Upcalls
	id            *rdmacm.ID
	phase         phase
	local, remote netip.AddrPort
	parameters    rdmacm.Parameters
	contacted     bool
	// concluded reports whether the attempt has an outcome. If it has one, destroying the id does not block.
	concluded bool

	// busy is true while a goroutine executes a command on the id. abandoned tells this goroutine
	// to destroy the id afterwards. Both are guarded by Device.mu.
	busy, abandoned bool
}

// NewConnection makes the unused connection of a queue pair.
func (d *Device) NewConnection(p Pair, u provider.Upcalls) *Connection {
	return &Connection{device: d, pair: p, upcalls: u}
}

// self returns the Connection that a queue pair embeds. handshake.Accept calls it.
func (c *Connection) self() *Connection { return c }

// enter changes the phase, and counts the connections that expect an event (Device.attempts). While
// the count is not 0, every Progress asks the kernel for events.
func (c *Connection) enter(p phase) {
	waits := func(p phase) int {
		switch p {
		case phaseUnused, phaseEstablished, phaseEnded:
			return 0
		default:
			return 1
		}
	}
	c.device.attempts += waits(p) - waits(c.phase)
	c.phase = p
}

// Connect implements provider.QueuePair.
func (c *Connection) Connect(remote netip.AddrPort, p *provider.Proposal) (netip.AddrPort, error) {
	source, err := c.device.source(remote.Addr())
	if err != nil {
		return netip.AddrPort{}, err
	}
	if c.id, err = c.device.Channel.Create(c); err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	c.remote, c.local = remote, netip.AddrPortFrom(source, 0)
	c.propose(p)
	c.parameters.PrivateData = slices.Clone(p.PrivateData)
	c.enter(phaseResolving)
	err = c.id.ResolveAddress(c.local, remote, addressTimeout)
	switch {
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH):
		c.fail(provider.FailureUnreachable, nil, err)
		return c.local, nil
	case err != nil:
		c.release()
		return netip.AddrPort{}, fmt.Errorf("%w: %w", provider.ErrInvalidAddress, err)
	}
	if a, err := c.device.addresses(c.id); err == nil {
		c.local = a.Source
	}
	return c.local, nil
}

// propose sets the parameters of a Connect or an Accept. The parameters contain the caller's slice
// of private data, and not a copy.
func (c *Connection) propose(p *provider.Proposal) {
	c.parameters = rdmacm.Parameters{
		PrivateData: p.PrivateData, QPNumber: c.pair.Number(), SRQ: c.pair.SharesReceives(),
		ResponderResources: depth(p.ResponderResources), InitiatorDepth: depth(p.InitiatorDepth),
		FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
	}
}

// Contacted implements provider.QueuePair. On InfiniBand and RoCE, Contacted returns true when the
// route has been resolved and the request was sent. It does not wait for a sign of the peer,
// because the peer's host sends nothing before it answers the request.
func (c *Connection) Contacted() bool { return c.contacted }

// Disconnect implements provider.QueuePair. An event reports the end of the connection, even if
// the peer has disconnected first.
func (c *Connection) Disconnect() {
	if c.phase != phaseEstablished {
		return
	}
	c.enter(phaseDisconnecting)
	_ = c.id.Disconnect()
}

// Abort implements provider.QueuePair.
func (c *Connection) Abort() {
	if c.phase != phaseUnused && c.phase != phaseEnded {
		c.pair.Fail()
	}
	c.release()
}

// Break ends an established connection whose queue pair has failed, and calls Upcalls.Broken.
func (c *Connection) Break(err error) {
	if c.phase != phaseEstablished && c.phase != phaseDisconnecting {
		return
	}
	c.pair.Fail()
	c.release()
	c.upcalls.Broken(err)
}

// Heard handles IBV_EVENT_COMM_EST: the queue pair has received a message. On the passive side this
// message establishes the connection, even if the peer's confirmation was lost.
func (c *Connection) Heard() {
	if c.phase == phaseAccepting {
		_ = c.id.NotifyEstablished() // Established follows
	}
}

// Busy reports whether a goroutine still executes a command that makes or ends the connection.
// While Busy returns true, the kernel uses the queue pair, and destroying the queue pair would
// block. After Abort a caller has to wait until Busy returns false before it destroys the queue
// pair.
func (c *Connection) Busy() bool {
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	return c.busy
}

// fail ends an attempt that has failed, and calls Upcalls.Failed.
func (c *Connection) fail(why provider.Failure, privateData []byte, err error) {
	c.concluded = true
	c.pair.Fail()
	c.release()
	c.upcalls.Failed(why, privateData, err)
}

// release destroys the id. After that the connection gets no events. On iWARP, destroying the id of
// an attempt waits for the peer's answer (iwcm's destroy_cm_id), so a goroutine destroys that id.
func (c *Connection) release() {
	id, waits := c.id, c.device.IWARP && c.phase == phaseConnecting && !c.concluded
	c.id = nil
	c.enter(phaseEnded)
	if id == nil {
		return
	}
	c.device.mu.Lock()
	busy := c.busy
	c.abandoned, c.busy = busy, busy || waits
	c.device.mu.Unlock()
	switch {
	case busy: // the goroutine that uses the id destroys it
	case waits:
		go c.end(id)
	default:
		_ = id.Destroy()
	}
}

// end destroys an id. It runs on a goroutine, because it may block.
func (c *Connection) end(id *rdmacm.ID) {
	_ = id.Destroy()
	c.device.mu.Lock()
	c.busy = false
	c.device.mu.Unlock()
}

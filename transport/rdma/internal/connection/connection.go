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

// How long the kernel may look. A host that does not say where it is has been asked three
// times in the first; a subnet manager may have much to do in the second.
const (
	addressTimeout = 4 * time.Second
	routeTimeout   = 30 * time.Second
)

// phase is how far a connection is.
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
	// concluded says that the attempt has an outcome, so that its end does not wait.
	concluded bool

	// busy says that a goroutine gives a command, abandoned that it has to destroy the id.
	// Both are guarded by Device.mu.
	busy, abandoned bool
}

// NewConnection makes a connection that is not used yet.
func (d *Device) NewConnection(p Pair, u provider.Upcalls) *Connection {
	return &Connection{device: d, pair: p, upcalls: u}
}

// self is how a Handshake finds the Connection that a queue pair embeds.
func (c *Connection) self() *Connection { return c }

// enter changes the phase. Progress looks for events more often while some are expected.
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

// propose is what Connect and Accept have in common. The private data stays the caller's.
func (c *Connection) propose(p *provider.Proposal) {
	c.parameters = rdmacm.Parameters{
		PrivateData: p.PrivateData, QPNumber: c.pair.Number(), SRQ: c.pair.SharesReceives(),
		ResponderResources: depth(p.ResponderResources), InitiatorDepth: depth(p.InitiatorDepth),
		FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
	}
}

// Contacted implements provider.QueuePair. On InfiniBand a host counts that the route has
// been resolved to: it does not say that it has the request before it answers.
func (c *Connection) Contacted() bool { return c.contacted }

// Disconnect implements provider.QueuePair. What it brings about is an event, also when
// the peer has been faster.
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

// Break says that the queue pair has failed: Upcalls.Broken follows.
func (c *Connection) Break(err error) {
	if c.phase != phaseEstablished && c.phase != phaseDisconnecting {
		return
	}
	c.pair.Fail()
	c.release()
	c.upcalls.Broken(err)
}

// Heard says that the queue pair has received something (IBV_EVENT_COMM_EST): on the
// passive side the connection stands, whatever has become of the peer's confirmation.
func (c *Connection) Heard() {
	if c.phase == phaseAccepting {
		_ = c.id.NotifyEstablished() // Established follows
	}
}

// Busy reports whether a goroutine still makes or ends the attempt, which keeps the queue
// pair in use by the kernel: to destroy it would wait. It is of interest after Abort.
func (c *Connection) Busy() bool {
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	return c.busy
}

// fail ends an attempt that has its outcome.
func (c *Connection) fail(why provider.Failure, privateData []byte, err error) {
	c.concluded = true
	c.pair.Fail()
	c.release()
	c.upcalls.Failed(why, privateData, err)
}

// release ends the id. Nothing is heard of it afterwards. On iWARP the end of an attempt
// waits for the peer's answer (iwcm's destroy_cm_id): a goroutine does.
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
	case busy: // the goroutine that it is busy with ends it
	case waits:
		go c.end(id)
	default:
		_, _ = id.Destroy()
	}
}

// end destroys an id on a goroutine.
func (c *Connection) end(id *rdmacm.ID) {
	_, _ = id.Destroy()
	c.device.mu.Lock()
	c.busy = false
	c.device.mu.Unlock()
}

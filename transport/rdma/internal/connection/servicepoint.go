package connection

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// kernelBacklogMin is the smallest backlog with which a service point listens, in requests. With
// InfiniBand and RoCE, the kernel drops requests beyond its backlog, and the sender's kernel sends them
// again. With iWARP, it rejects them as if the consumer had rejected them. The backlog of the kernel
// cannot enforce the limit that the consumer wants (ServicePointConfig.Backlog), because Progress soon
// takes requests out of the kernel. The function ServicePointConfig.Arrived enforces this limit.
const kernelBacklogMin = 128

// servicePoint implements provider.ServicePoint.
type servicePoint struct {
	device  *Device
	id      *rdmacm.ID
	address netip.AddrPort
	arrived func(h provider.Handshake, local, remote netip.AddrPort, p *provider.Proposal) error
}

// Listen implements provider.Device. If the configuration has no address, Listen uses the device's
// first address.
func (d *Device) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	at := c.Address
	if !at.Addr().IsValid() || at.Addr().IsUnspecified() {
		if len(d.Addresses) == 0 {
			return nil, fmt.Errorf("%w: the device has no address", provider.ErrInvalidAddress)
		}
		at = netip.AddrPortFrom(d.zoned(d.Addresses[0].Addr()), at.Port())
	}
	s := &servicePoint{device: d, arrived: c.Arrived}
	var err error
	if s.id, err = d.Channel.Create(s); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	if err = s.open(at, c.Backlog); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open binds the id to an address and begins to listen.
func (s *servicePoint) open(at netip.AddrPort, backlog int) error {
	switch err := s.id.Bind(at); {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	case err != nil:
		return fmt.Errorf("%w: %w", provider.ErrInvalidAddress, err)
	}
	a, err := s.device.owns(s.id)
	if err != nil {
		return err
	}
	s.address = a.Source
	if err := s.id.Listen(max(backlog, kernelBacklogMin)); err != nil {
		return fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	return nil
}

// Address implements provider.ServicePoint.
func (s *servicePoint) Address() netip.AddrPort { return s.address }

// Close implements provider.ServicePoint. The kernel refuses the requests that it still holds.
func (s *servicePoint) Close() { _ = s.id.Destroy() }

// handle passes a connection request to Arrived, and refuses the request if Arrived returns an
// error.
func (s *servicePoint) handle(e *rdmacm.Event) {
	if e.Kind != rdmacm.ConnectRequest {
		return
	}
	h := &handshake{id: e.Request}
	a, err := s.device.addresses(e.Request)
	if err == nil {
		h.local, h.remote = a.Source, a.Destination
		err = s.arrived(h, h.local, h.remote, s.device.request(&e.Parameters))
	}
	if err != nil {
		h.Refuse()
	}
}

// handshake implements provider.Handshake.
type handshake struct {
	id            *rdmacm.ID
	local, remote netip.AddrPort
}

// Accept implements provider.Handshake.
func (h *handshake) Accept(qp provider.QueuePair, answer *provider.Proposal) {
	c := qp.(interface{ self() *Connection }).self()
	c.id, c.local, c.remote, c.contacted = h.id, h.local, h.remote, true
	h.id.Context = c
	c.propose(answer)
	c.enter(phaseAccepting)
	err := c.modify(rdmacm.StateInit)
	if err == nil {
		err = c.ready()
	}
	if err == nil {
		err = c.id.Accept(&c.parameters)
	}
	c.parameters.PrivateData = nil // the memory belongs to the caller
	if err != nil {
		c.fail(provider.FailureRefused, nil, err)
	}
}

// Reject implements provider.Handshake.
func (h *handshake) Reject(privateData []byte) {
	_ = h.id.Reject(privateData) // an error means that the peer has gone
	_ = h.id.Destroy()
}

// Refuse implements provider.Handshake.
func (h *handshake) Refuse() { h.Reject(refusal) }

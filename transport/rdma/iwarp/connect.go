package iwarp

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Connect implements provider.QueuePair.
func (p *queuePair) Connect(remote netip.AddrPort, proposal *provider.Proposal) (netip.AddrPort, error) {
	d := p.device
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	source := d.addresses.of(remote.Addr())
	if !source.IsValid() {
		return netip.AddrPort{}, provider.ErrInvalidAddress
	}
	to, err := sockaddr(remote)
	if err != nil {
		return netip.AddrPort{}, invalidAddress("connect", err)
	}
	p.offer = mpa.Offer{
		Revision: d.config.Revision, CRC: !d.provider.withoutCRC(), Kin: proposal.SameProvider,
		IRD: uint16(proposal.ResponderResources), ORD: uint16(proposal.InitiatorDepth),
		PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead,
	}
	if d.config.ReadRTR {
		p.offer.RTR = mpa.RTRRead
	}
	request, err := p.offer.Request(proposal.PrivateData)
	if err != nil {
		return netip.AddrPort{}, provider.ErrInvalidParameter
	}
	p.request = request.Append(nil)
	fd, err := p.dial(netip.AddrPortFrom(source, 0), to)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if err := p.adopt(fd); err != nil {
		p.Abort()
		return netip.AddrPort{}, err
	}
	p.state, p.active, p.remote, p.local = pairConnecting, true, remote, localOf(fd)
	d.later(p) // if the attempt has failed already, epoll reports no event for it
	return p.local, nil
}

// dial makes a socket that is bound to the source, and begins to connect it. If connect(2) fails,
// dial stores the error in p.failure and returns no error. runConnecting then reports the stored
// error as the result of the attempt.
func (p *queuePair) dial(source netip.AddrPort, to unix.Sockaddr) (int, error) {
	from, err := sockaddr(source)
	if err != nil {
		return -1, invalidAddress("bind", err)
	}
	fd, err := newSocket(source.Addr())
	if err != nil {
		return -1, err
	}
	// With this option the kernel chooses the port at connect(2). The port then only has to differ from the ports of
	// connections to the same remote address. Without the option, each connection of a host needs a port of its own.
	// Errors are ignored, because kernels before Linux 4.2 do not have the option (ip(7)).
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err := unix.Bind(fd, from); err != nil {
		_ = unix.Close(fd) // the first error is returned
		return -1, invalidAddress("bind", err)
	}
	if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		p.failure = err
	}
	return fd, nil
}

// runConnecting checks whether TCP has connected. When TCP has connected, runConnecting begins TLS
// or sends the MPA request.
func (p *queuePair) runConnecting() int {
	err := p.failure
	if err == nil {
		n, e := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case e != nil:
			err = e
		case n != 0:
			err = unix.Errno(n)
		}
	}
	if err != nil {
		p.fail(connectFailure(err), nil, systemError("connect", errnoOf(err)))
		return 1
	}
	if _, err := unix.Getpeername(p.fd); err != nil {
		return 0 // still connecting
	}
	if err := tune(p.fd, p.device.config.UserTimeout); err != nil {
		p.fail(provider.FailureRefused, nil, err)
		return 1
	}
	if p.sealed = p.device.seal(p.fd, true); p.sealed != nil {
		p.state = pairSealing
		return 1 + p.runSealing()
	}
	return 1 + p.ask()
}

// runSealing advances the handshake of TLS. When the handshake has ended, runSealing sends the MPA
// request.
func (p *queuePair) runSealing() int {
	done, err := p.sealed.step()
	switch {
	case err != nil:
		p.fail(provider.FailureRefused, nil, err)
	case done:
		return 1 + p.ask()
	}
	return 1
}

// ask sends the MPA request.
func (p *queuePair) ask() int {
	if errno := say(p.fd, p.sealed, p.request); errno != 0 { // an empty send buffer takes the whole frame at once
		p.fail(provider.FailureRefused, nil, systemError("send", errno))
		return 1
	}
	p.request, p.state = nil, pairReplying // without a timeout here: verbs enforces the consumer's timeout
	return 1 + p.runReplying()
}

// errnoOf returns the errno in an error, or EIO if the error contains none.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}

// connectFailure returns FailureUnreachable if the errno in the error means that connect(2) reached
// no host. For any other error it returns FailureRefused.
func connectFailure(err error) provider.Failure {
	switch errnoOf(err) {
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN, unix.ETIMEDOUT, unix.EACCES, unix.EPERM, unix.EINVAL:
		return provider.FailureUnreachable
	default:
		return provider.FailureRefused
	}
}

// runReplying reads the MPA reply. When the reply is complete, the connection is established or the
// attempt has failed.
func (p *queuePair) runReplying() int {
	f, err := p.reply.read(p.fd, p.sealed)
	switch {
	case errors.Is(err, mpa.ErrShort):
		return 0
	case err != nil:
		p.fail(provider.FailureRefused, nil, err)
		return 1
	}
	p.agreed, err = p.offer.Conclude(f)
	_, private, _ := f.Split() // Conclude has already checked that Split succeeds
	switch {
	case errors.Is(err, mpa.ErrRejected):
		p.fail(provider.FailureRejected, private, nil)
		return 1
	case err != nil && !errors.Is(err, mpa.ErrInsufficient):
		p.refuse(err)
		return 1
	}
	p.begin()
	p.state = pairOpen
	answer := provider.Proposal{
		PrivateData: private, ResponderResources: depthOf(p.agreed.PeerIRD), InitiatorDepth: depthOf(p.agreed.PeerORD),
	}
	if err := p.config.Upcalls.Established(&answer, p.local, p.remote); err != nil {
		p.leave(mpa.ErrInsufficient, segmentShown{})
		return 1
	}
	p.reply = frameReader{}
	p.tx.rtr = p.agreed.RTR
	p.tx.held = false
	p.device.touch(p)
	if !p.agreed.Kin {
		p.nudges = nudgesMax
		p.await()
	}
	p.readable = true
	return 1 + p.runOpen()
}

// refuse ends an attempt because the reply cannot be accepted. refuse sends a Terminate, because no
// other message lets the initiator report the reason.
func (p *queuePair) refuse(err error) {
	p.agreed.CRC = p.agreed.CRC || p.offer.CRC // if the reply could not be parsed, the offer alone decides
	p.begin()
	p.leave(mpa.CodeOf(err), segmentShown{})
	p.config.Upcalls.Failed(provider.FailureRefused, nil, err)
}

// depthOf converts a depth of MPA to a depth of package verbs/provider.
func depthOf(d uint16) int {
	if d == mpa.DepthUnstated {
		return provider.DepthDefault
	}
	return int(d)
}

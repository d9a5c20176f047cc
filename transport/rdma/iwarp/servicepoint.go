package iwarp

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// acceptsMax bounds the connections that one run of a service point accepts. It is small for two
	// reasons: messages of peers must not wait for connections of strangers, and consumers must be
	// able to answer all requests in time.
	acceptsMax = 16
	// backlogMax is the backlog of the TCP socket. The backlog of package verbs is another limit: it
	// counts MPA requests that have arrived. A TCP connection in the backlog of the socket may not
	// have sent its request yet.
	backlogMax = 4096
	// exhaustedPause is the time after which a service point that has found descriptors or memory to be
	// scarce tries again to accept. It tries earlier if epoll reports a new connection.
	exhaustedPause = 50 * time.Millisecond
)

// servicePoint is a listening socket.
type servicePoint struct {
	entry
	device  *device
	fd      int
	address netip.AddrPort
	arrived func(h provider.Handshake, local, remote netip.AddrPort, p *provider.Proposal) error
	// halfOpen holds the connections that have not sent their MPA request yet, the oldest first.
	halfOpen []*halfOpen
	timer    timer
}

var _ provider.ServicePoint = (*servicePoint)(nil)

// Listen implements provider.Device.
func (d *device) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	at := netip.AddrPortFrom(c.Address.Addr().Unmap(), c.Address.Port())
	if !at.Addr().IsValid() {
		at = netip.AddrPortFrom(d.addresses.first(), at.Port())
	}
	to, err := sockaddr(at)
	if err != nil {
		return nil, invalidAddress("listen", err)
	}
	fd, err := newSocket(at.Addr())
	if err != nil {
		return nil, err
	}
	s := &servicePoint{device: d, fd: fd, arrived: c.Arrived}
	s.timer.owner = s
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, to)
	}
	if err == nil {
		err = unix.Listen(fd, backlogMax)
	}
	if err == nil {
		err = d.watch(fd, s, eventsIn)
	}
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		_ = unix.Close(fd) // the first error is returned
		return nil, invalidAddress("listen", err)
	case err != nil:
		_ = unix.Close(fd)
		return nil, systemError("listen", errnoOf(err))
	}
	s.address = localOf(fd)
	return s, nil
}

// Address implements provider.ServicePoint.
func (s *servicePoint) Address() netip.AddrPort { return s.address }

// Close implements provider.ServicePoint.
func (s *servicePoint) Close() {
	if s.fd < 0 {
		return
	}
	s.device.unwatch(s.fd)
	s.device.timers.stop(&s.timer)
	_ = unix.Close(s.fd) // no data was written to this socket
	s.fd = -1
	for len(s.halfOpen) > 0 {
		s.halfOpen[0].drop()
	}
}

// notice implements task.
func (s *servicePoint) notice(uint32) {}

// expire implements the owner of a timer.
func (s *servicePoint) expire() { s.device.later(s) }

// run implements task. It accepts connections of the backlog, at most acceptsMax.
func (s *servicePoint) run() int {
	for n := range acceptsMax {
		if s.fd < 0 {
			return n
		}
		fd, from, err := unix.Accept4(s.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return n
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			// The timer is needed because the connection stays in the backlog, and epoll does not
			// report the connection again.
			s.device.setTimer(&s.timer, exhaustedPause)
			return n
		case err != nil:
			continue // this connection has failed before accept
		}
		if !s.admit(fd, addrPort(from)) {
			s.device.setTimer(&s.timer, exhaustedPause)
			return n + 1
		}
	}
	s.device.later(s)
	return acceptsMax
}

// admit starts to wait for the MPA request of a connection. It returns false if it has reset the
// connection for lack of descriptors.
func (s *servicePoint) admit(fd int, from netip.AddrPort) bool {
	d := s.device
	limit := descriptorLimit()
	if len(s.halfOpen) >= min(d.config.HalfOpenMax, limit.share()) {
		s.evict(&d.counters.Crowded, "the listener has too many connections that have sent no MPA request")
	}
	for limit.spared(fd) {
		if len(s.halfOpen) == 0 {
			d.stranger(&d.counters.Scarce, from, scarce)
			reset(fd)
			return false
		}
		s.evict(&d.counters.Scarce, scarce)
		fd = lowest(fd)
	}
	h := &halfOpen{point: s, fd: fd, sealed: d.seal(fd, false), remote: from, host: hostOf(from.Addr())}
	h.timer.owner = h
	s.halfOpen = append(s.halfOpen, h)
	d.later(h) // most requests have arrived before accept4 returns
	return true
}

// scarce is the text that names the reason when a connection is dropped because the process has few
// descriptors left.
const scarce = "the process has few descriptors left"

// evict drops a connection that has not sent its request yet. mostCrowded chooses this connection.
func (s *servicePoint) evict(counter *atomic.Uint64, why string) {
	h := s.halfOpen[mostCrowded(s.halfOpen)]
	s.device.stranger(counter, h.remote, why)
	h.drop()
}

// halfOpen is a connection that has not sent its MPA request yet.
type halfOpen struct {
	entry
	point  *servicePoint
	fd     int
	sealed *sealed
	remote netip.AddrPort
	host   host
	reader frameReader
	timer  timer
}

// notice implements task.
func (h *halfOpen) notice(uint32) {}

// expire implements the owner of a timer.
func (h *halfOpen) expire() {
	d := h.point.device
	d.stranger(&d.counters.Late, h.remote, fmt.Sprintf("no request within %v", d.config.RequestTimeout))
	h.drop()
}

// detach gives up ownership of the socket and returns it.
func (h *halfOpen) detach() int {
	s, fd := h.point, h.fd
	s.device.unwatch(fd)
	s.device.timers.stop(&h.timer)
	if i := slices.Index(s.halfOpen, h); i >= 0 {
		s.halfOpen = slices.Delete(s.halfOpen, i, i+1)
	}
	h.fd = -1
	return fd
}

// drop resets the connection without a reply.
func (h *halfOpen) drop() {
	h.sealed.stop()
	reset(h.detach())
}

// run implements task. It reads the request and, when the request is complete, passes the
// connection to the consumer.
func (h *halfOpen) run() int {
	if h.fd < 0 {
		return 0
	}
	f, err := h.hear()
	if errors.Is(err, mpa.ErrShort) {
		h.wait()
		return 0
	}
	if err == nil {
		err = mpa.Screen(f)
	}
	d := h.point.device
	switch {
	case errors.Is(err, mpa.ErrMarkers):
		d.stranger(&d.counters.Strangers, h.remote, err.Error())
		h.rejectMarkers(f)
		return 1
	case errors.Is(err, ErrHungUp):
		// The hang-up is not logged, because it is normal: two ranks may connect to each other at
		// the same time. In this case one rank closes its own connection and uses the connection of
		// the other rank.
		d.counters.HungUp.Add(1)
		h.drop()
		return 1
	case err != nil:
		d.stranger(&d.counters.Strangers, h.remote, err.Error())
		h.drop()
		return 1
	}
	peer, private, _ := f.Split() // no error: Screen has already checked that Split succeeds
	a := &handshake{device: d, sealed: h.sealed, frame: f, local: localOf(h.fd), remote: h.remote}
	a.fd = h.detach()
	if tune(a.fd, d.config.UserTimeout) != nil {
		a.Refuse()
		return 1
	}
	err = h.point.arrived(a, a.local, a.remote, &provider.Proposal{
		PrivateData: private, ResponderResources: depthOf(peer.IRD), InitiatorDepth: depthOf(peer.ORD),
	})
	if err != nil {
		d.counters.Refused.Add(1)
		a.Refuse()
	}
	return 1
}

// wait adds the socket to epoll and sets the deadline for the request.
func (h *halfOpen) wait() {
	d := h.point.device
	if h.timer.place != 0 {
		return
	}
	if d.watch(h.fd, h, eventsIn) != nil {
		h.drop()
		return
	}
	d.setTimer(&h.timer, d.config.RequestTimeout)
}

// hear reads the request, after the TLS handshake if the connection uses TLS. The error is
// mpa.ErrShort until the request is complete.
func (h *halfOpen) hear() (mpa.Frame, error) {
	if h.sealed != nil {
		if done, err := h.sealed.step(); !done {
			return mpa.Frame{}, cmp.Or(err, mpa.ErrShort)
		}
	}
	return h.reader.read(h.fd, h.sealed)
}

// rejectMarkers rejects a request that asks for markers, which are not supported.
func (h *halfOpen) rejectMarkers(f mpa.Frame) {
	d := h.point.device
	reply, err := mpa.Offer{IRD: depthMax, ORD: depthMax}.Reject(f, nil)
	if err != nil {
		h.drop()
		return
	}
	d.dismiss(h.detach(), h.sealed.last(reply.Append(nil)))
}

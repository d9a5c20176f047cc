package iwarp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loopbackBuffer is the size in bytes that is set for the send buffer of a connection over loopback. The
// kernel doubles it (socket(7)). With the kernel's own size, which grows to megabytes, the data
// leaves the processor's caches before the peer copies it. Loopback does not need the larger size,
// because it has no delay. The size is below the limit that Linux has by default (net.core.wmem_max), and
// was measured with four ranks on two processors (docs/adr/0065).
const loopbackBuffer = 128 << 10

// newSocket opens a TCP socket for the family of an address.
func newSocket(a netip.Addr) (int, error) {
	family := unix.AF_INET6
	if a.Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, fmt.Errorf("iwarp: socket: %w", scarcity(err))
	}
	if a.IsLoopback() {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, loopbackBuffer) // if it fails, the kernel's size applies
	}
	return fd, nil
}

// scarcity adds the limit of open files to the text of an error that reports a lack of
// descriptors.
func scarcity(err error) error {
	var limit unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return err
	}
	return fmt.Errorf("%w: this process may have %d files open at a time (ulimit -n), and each peer needs one", err, limit.Cur)
}

// tune sets the options of a connection. TCP sends each segment without waiting for more data
// (TCP_NODELAY). The connection fails if data stays unacknowledged by the peer for longer than
// the duration patience, or if the peer's receive window stays full for longer. The option TCP_USER_TIMEOUT is
// a number of milliseconds with 31 bits, in which 0 means the system's own limit (tcp(7)).
func tune(fd int, patience time.Duration) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("iwarp: TCP_NODELAY: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(min(max(patience.Milliseconds(), 1), math.MaxInt32))); err != nil {
		return fmt.Errorf("iwarp: TCP_USER_TIMEOUT: %w", err)
	}
	return nil
}

// segmentSize returns the maximum segment size of TCP on a connection. It returns 0 if the size is
// unknown.
func segmentSize(fd int) int {
	n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err != nil {
		return 0 // for 0, MULPDU returns its minimum
	}
	return n
}

// reset closes a connection with a reset of TCP, so that the peer sees the connection break.
func reset(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // Close alone ends in order
	_ = unix.Close(fd)
}

// sockaddr converts an address to the type that system calls take.
func sockaddr(a netip.AddrPort) (unix.Sockaddr, error) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
	}
	s := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone := a.Addr().Zone(); zone != "" {
		id, err := zoneIndex(zone)
		if err != nil {
			return nil, err
		}
		s.ZoneId = id
	}
	return s, nil
}

// zoneIndex returns the index of the interface that a zone names.
func zoneIndex(zone string) (uint32, error) {
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("iwarp: zone %q: %w", zone, err)
	}
	return uint32(i.Index), nil
}

// addrPort converts an address that a system call has returned. The result is invalid if the
// address is no IP address.
func addrPort(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		a := netip.AddrFrom16(s.Addr).Unmap()
		if s.ZoneId != 0 && a.Is6() {
			zone := strconv.Itoa(int(s.ZoneId))
			if i, err := net.InterfaceByIndex(int(s.ZoneId)); err == nil {
				zone = i.Name
			}
			a = a.WithZone(zone)
		}
		return netip.AddrPortFrom(a, uint16(s.Port))
	default:
		return netip.AddrPort{}
	}
}

// localOf returns the local address of a socket. The result is invalid if the socket has no local
// address.
func localOf(fd int) netip.AddrPort {
	s, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(s)
}

//go:build !portable

package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Package net is not for this package: programs that stay on a node are built without it.

const (
	// A connection of the bootstrap counts as lost when the other machine has not answered
	// for keepIdle and keepCount probes, one in keepInterval seconds (tcp(7)).
	keepIdle, keepInterval, keepCount = 2, 1, 3
	// unsentTimeout is how long sent bytes may stay unacknowledged, in ms.
	unsentTimeout = 5000
)

// String returns the address for messages.
func (a Address) String() string {
	return netip.AddrPortFrom(netip.AddrFrom16(a.IP).Unmap(), a.Port).String()
}

// socket makes a non-blocking TCP socket for an address, and that in the kernel's form.
func (a Address) socket() (int, unix.Sockaddr, error) {
	ip := netip.AddrFrom16(a.IP).Unmap()
	family, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(a.Port), Addr: a.IP})
	if ip.Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port), Addr: ip.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, fmt.Errorf("bootstrap: socket for %v: %w", a, err)
	}
	return fd, sa, nil
}

// listener accepts connections.
type listener struct {
	file *os.File
	port uint16
}

// listen listens at an address, on its port or on one that the system chooses.
func listen(a Address) (*listener, error) {
	fd, sa, err := a.socket()
	if err != nil {
		return nil, err
	}
	l := &listener{file: os.NewFile(uintptr(fd), "gorun-meeting")}
	if a.Port != 0 { // the connections of one that has just ended are no obstacle
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if _, six := sa.(*unix.SockaddrInet6); six && err == nil { // whatever net.ipv6.bindv6only says
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err == nil {
		sa, err = unix.Getsockname(fd)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bootstrap: listen at %v: %w", a, err), l.file.Close())
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		l.port = uint16(sa.Port)
	case *unix.SockaddrInet6:
		l.port = uint16(sa.Port)
	}
	return l, nil
}

// accept returns the next connection. It ends with an error when the listener is closed.
func (l *listener) accept() (*os.File, error) {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	for {
		fd := -1
		var e error
		err := raw.Read(func(s uintptr) bool {
			fd, _, e = unix.Accept4(int(s), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			return !errors.Is(e, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return nil, err
		case errors.Is(e, unix.EINTR), errors.Is(e, unix.ECONNABORTED):
			continue
		case errors.Is(e, unix.EMFILE), errors.Is(e, unix.ENFILE), errors.Is(e, unix.ENOBUFS), errors.Is(e, unix.ENOMEM), ofNewConnection(e):
			time.Sleep(retryDelay) // nothing announces that the kernel has room again
			continue
		case e != nil:
			return nil, fmt.Errorf("bootstrap: accept: %w", e)
		}
		if err := prepare(fd); err != nil { // it is of no use, and the next may be
			_ = unix.Close(fd)
			continue
		}
		return os.NewFile(uintptr(fd), "gorun-rank"), nil
	}
}

// ofNewConnection reports whether an error of accept is one of the connection that it would
// have returned, and none of the listener (accept(2), "Error handling").
func ofNewConnection(err error) bool {
	for _, e := range [...]error{
		unix.ENETDOWN, unix.EPROTO, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET, unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EPERM,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// dial connects to an address before a point in time.
func dial(a Address, until time.Time) (*os.File, error) {
	fd, sa, err := a.socket()
	if err != nil {
		return nil, err
	}
	if err = unix.Connect(fd, sa); errors.Is(err, unix.EINPROGRESS) {
		err = nil
	}
	f := os.NewFile(uintptr(fd), "gorun-meeting") // after the connect: an idle socket polls as hung up
	if err == nil {
		err = errors.Join(f.SetDeadline(until), connected(f), prepare(fd), f.SetDeadline(time.Time{}))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %v: %w", a, err), f.Close())
	}
	return f, nil
}

// connected waits for the end of a connect.
func connected(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = raw.Write(func(s uintptr) bool {
		code, e := unix.GetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case e != nil:
			result = e
		case code != 0:
			result = unix.Errno(code)
		default:
			if _, e := unix.Getpeername(int(s)); errors.Is(e, unix.ENOTCONN) {
				return false
			}
		}
		return true
	})
	return errors.Join(err, result)
}

// prepare sets the options of a connection.
func prepare(fd int) error {
	for _, o := range [...]struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepIdle},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepInterval},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepCount},
		{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unsentTimeout},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("bootstrap: socket option %d: %w", o.name, err)
		}
	}
	return nil
}

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

// This package does not import net, so that programs whose jobs stay on one node are built without package
// net.

const (
	// These are options of tcp(7). After a connection of the bootstrap has been idle for keepIdle seconds,
	// the kernel sends a probe every keepInterval seconds. If the other machine answers none of keepCount
	// probes, the connection is lost.
	keepIdle, keepInterval, keepCount = 2, 1, 3
	// unsentTimeout is a time in milliseconds. If the peer does not acknowledge sent bytes within this time,
	// the kernel ends the connection.
	unsentTimeout = 5000
)

// String returns the address as it appears in messages.
func (a Address) String() string {
	return netip.AddrPortFrom(netip.AddrFrom16(a.IP).Unmap(), a.Port).String()
}

// socket makes a non-blocking TCP socket for an address, and returns the socket and the address as a
// unix.Sockaddr.
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

// listener is a listening TCP socket.
type listener struct {
	file *os.File
	port uint16
}

// listen listens at an address. If its port is 0, the kernel chooses a port.
func listen(a Address) (*listener, error) {
	fd, sa, err := a.socket()
	if err != nil {
		return nil, err
	}
	l := &listener{file: os.NewFile(uintptr(fd), "gorun-meeting")}
	if a.Port != 0 { // without the option, an earlier process's connections in TIME_WAIT could prevent the bind
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if _, six := sa.(*unix.SockaddrInet6); six && err == nil { // accept IPv4, too, for any net.ipv6.bindv6only
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

// accept waits for the next connection and returns it. It returns an error when the listener is closed.
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
			time.Sleep(retryDelay) // no event reports that the kernel has resources again
			continue
		case e != nil:
			return nil, fmt.Errorf("bootstrap: accept: %w", e)
		}
		if err := prepare(fd); err != nil { // this connection cannot be used; wait for the next one
			_ = unix.Close(fd)
			continue
		}
		return os.NewFile(uintptr(fd), "gorun-rank"), nil
	}
}

// ofNewConnection reports whether an error of accept concerns the connection that accept would have
// returned, not the listener (accept(2), "Error handling").
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

// dial connects to an address. It returns an error if the connection is not established by the given time.
func dial(a Address, until time.Time) (*os.File, error) {
	fd, sa, err := a.socket()
	if err != nil {
		return nil, err
	}
	if err = unix.Connect(fd, sa); errors.Is(err, unix.EINPROGRESS) {
		err = nil
	}
	f := os.NewFile(uintptr(fd), "gorun-meeting") // after Connect: before it, poll(2) reports a hangup
	if err == nil {
		err = errors.Join(f.SetDeadline(until), connected(f), prepare(fd), f.SetDeadline(time.Time{}))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %v: %w", a, err), f.Close())
	}
	return f, nil
}

// connected waits until a nonblocking connect has succeeded or failed.
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

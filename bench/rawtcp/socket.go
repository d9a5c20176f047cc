package main

import (
	"errors"
	"fmt"
	"syscall"
)

// loopback is the address over which the ranks connect.
var loopback = [4]byte{127, 0, 0, 1}

// errHungUp means that the other rank has closed the connection.
var errHungUp = errors.New("rawtcp: the other rank has closed the connection")

// socket is a TCP socket that is not registered with Go's netpoller.
type socket struct{ fd int }

// newSocket opens a blocking socket. The timed system calls do not block, because they set MSG_DONTWAIT.
func newSocket() (socket, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, syscall.IPPROTO_TCP)
	if err != nil {
		return socket{}, fmt.Errorf("rawtcp: socket: %w", err)
	}
	return socket{fd}, nil
}

// listen returns a socket that listens on a free port of loopback.
func listen() (socket, error) {
	s, err := newSocket()
	if err != nil {
		return s, err
	}
	if err = syscall.Bind(s.fd, &syscall.SockaddrInet4{Addr: loopback}); err == nil {
		err = syscall.Listen(s.fd, 1)
	}
	if err != nil {
		s.close()
		return socket{}, fmt.Errorf("rawtcp: listen: %w", err)
	}
	return s, nil
}

// port returns the port of a socket that listens.
func (s socket) port() (int, error) {
	name, err := syscall.Getsockname(s.fd)
	if err != nil {
		return 0, fmt.Errorf("rawtcp: getsockname: %w", err)
	}
	at, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("rawtcp: getsockname: %w", syscall.EAFNOSUPPORT)
	}
	return at.Port, nil
}

// accept waits for a connection to a socket that listens.
func (s socket) accept() (socket, error) {
	fd, _, err := syscall.Accept4(s.fd, syscall.SOCK_CLOEXEC)
	if err != nil {
		return socket{}, fmt.Errorf("rawtcp: accept: %w", err)
	}
	return socket{fd}.tuned()
}

// dial connects to a port of loopback.
func dial(port int) (socket, error) {
	s, err := newSocket()
	if err != nil {
		return s, err
	}
	if err := syscall.Connect(s.fd, &syscall.SockaddrInet4{Port: port, Addr: loopback}); err != nil {
		s.close()
		return socket{}, fmt.Errorf("rawtcp: connect: %w", err)
	}
	return s.tuned()
}

// tuned disables Nagle's algorithm and returns the socket.
func (s socket) tuned() (socket, error) {
	if err := syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		s.close()
		return socket{}, fmt.Errorf("rawtcp: TCP_NODELAY: %w", err)
	}
	return s, nil
}

// close closes the socket.
func (s socket) close() { _ = syscall.Close(s.fd) } // an error is harmless: the peer has received all bytes

// send sends all bytes of b. It polls while the socket has no room.
func (s socket) send(b []byte) error {
	for len(b) > 0 {
		n, errno := trySend(s.fd, b)
		switch errno {
		case 0:
			b = b[n:]
		case syscall.EAGAIN, syscall.EINTR:
		default:
			return fmt.Errorf("rawtcp: send: %w", errno)
		}
	}
	return nil
}

// receive fills b. It polls while no bytes have arrived.
func (s socket) receive(b []byte) error {
	for len(b) > 0 {
		n, errno := tryReceive(s.fd, b)
		switch {
		case errno == syscall.EAGAIN || errno == syscall.EINTR:
		case errno != 0:
			return fmt.Errorf("rawtcp: receive: %w", errno)
		case n == 0:
			return errHungUp
		default:
			b = b[n:]
		}
	}
	return nil
}

package rdmacm

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// Error is the error of a failed command. It wraps one of four causes: the kernel's errno, the error of an
// argument that this package refuses, the error of an answer that this package cannot read, or os.ErrClosed. The
// cause is os.ErrClosed if the id was destroyed or the channel was closed.
type Error struct {
	// Op is the name of the command.
	Op string
	// ID is the uid of the id, that is, the number that this package gave to the id. It is 0 if the command has no
	// id.
	ID uint64
	// Peer is the address argument of the command, if it has one.
	Peer netip.AddrPort
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("rdma_cm: " + e.Op)
	if e.ID != 0 {
		fmt.Fprintf(&s, " id %d", e.ID)
	}
	if e.Peer.IsValid() {
		s.WriteString(" " + e.Peer.String())
	}
	s.WriteString(": " + e.Err.Error())
	if hint := e.hint(); hint != "" {
		s.WriteString(" (" + hint + ")")
	}
	return s.String()
}

// hint returns the meaning of an errno of these commands if the kernel's text for the errno is
// misleading. Otherwise it returns "".
func (e *Error) hint() string {
	switch {
	case errors.Is(e.Err, unix.EACCES):
		return "the process has changed its credentials since it opened the device"
	case errors.Is(e.Err, unix.ENODEV) && (e.Op == "bind" || e.Op == "resolve address"):
		return "no RDMA device has this address or a route to it; the command rdma link lists the devices"
	case errors.Is(e.Err, unix.EINVAL) && e.Op == "connect":
		return "no such queue pair, too much private data, or depths beyond the device's"
	case errors.Is(e.Err, unix.ENXIO):
		return "the device was removed"
	default:
		return ""
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// at adds an address to the error of a command.
func at(peer netip.AddrPort, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // it was just made, not wrapped
		e.Peer = peer
	}
	return err
}

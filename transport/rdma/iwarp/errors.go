package iwarp

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// The causes that this package reports in events and errors. Other causes are errors of mpa, ddp
// and rdmap, and errno values of the system.
var (
	// ErrNoFirstMessage means that an accepted peer did not send its first FPDU in time.
	ErrNoFirstMessage = errors.New("iwarp: no first FPDU in time")
	// ErrHungUp means that the peer closed the connection before its MPA request or reply was
	// complete, or before its first FPDU.
	ErrHungUp = errors.New("iwarp: peer closed the connection during set-up")
	// ErrCut means that the connection ended within an FPDU.
	ErrCut = errors.New("iwarp: connection ended within an FPDU")
	// ErrNotClosed means that the peer did not end its side of the connection in time.
	ErrNotClosed = errors.New("iwarp: peer did not close in time")
	// ErrNotSealed means that TLS has failed: the peer does not use TLS, the peer does not know the
	// secret, or a byte was changed in transit.
	ErrNotSealed = errors.New("iwarp: TLS failed")
	// ErrTruncated means that the connection ended without a close_notify of TLS. Anybody on the
	// network path can cause this error.
	ErrTruncated = errors.New("iwarp: encrypted connection was cut")
	// ErrNoInterface means that no interface that is up and has an address matches the name, address or
	// prefix that was passed to Open.
	ErrNoInterface = errors.New("iwarp: no such interface")
)

// systemError returns the error of a failed system call.
func systemError(call string, errno syscall.Errno) error {
	return fmt.Errorf("iwarp: %s: %w", call, errno)
}

// invalidAddress returns the error for an address that a call cannot use.
func invalidAddress(call string, err error) error {
	return fmt.Errorf("%w: %s: %w", provider.ErrInvalidAddress, call, err)
}

package iwarp

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Causes that events and errors carry beside those of mpa, ddp and rdmap and the
// errno of the system.
var (
	// ErrNoFirstMessage says that an accepted peer sent no first FPDU in time.
	ErrNoFirstMessage = errors.New("iwarp: no first FPDU in time")
	// ErrHungUp says that the peer closed the connection in place of an MPA reply or
	// of its first FPDU.
	ErrHungUp = errors.New("iwarp: peer closed the connection during set-up")
	// ErrCut says that the connection ended within an FPDU.
	ErrCut = errors.New("iwarp: connection ended within an FPDU")
	// ErrNotClosed says that the peer did not end its side in time.
	ErrNotClosed = errors.New("iwarp: peer did not close in time")
	// ErrNotSealed says that the peer does not speak TLS, does not know the secret, or that
	// somebody on the way has changed a byte; ErrTruncated that the connection ended without
	// TLS's own end, which anybody on the way can bring about.
	ErrNotSealed = errors.New("iwarp: encrypted connection")
	ErrTruncated = errors.New("iwarp: encrypted connection was cut")
	// ErrNoInterface says that a name names no interface with an address.
	ErrNoInterface = errors.New("iwarp: no such interface")
)

// systemError makes the error of a system call. It is made only where one failed.
func systemError(call string, errno syscall.Errno) error {
	return fmt.Errorf("iwarp: %s: %w", call, errno)
}

// invalidAddress makes the error of an address that cannot be used.
func invalidAddress(call string, err error) error {
	return fmt.Errorf("%w: %s: %w", provider.ErrInvalidAddress, call, err)
}

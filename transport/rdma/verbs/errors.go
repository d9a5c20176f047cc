package verbs

import (
	"errors"
	"strings"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Fault is a return code of the manual pages. It is an error, and errors.Is finds
// in it the errno that librdmacm would have set (rdma_connect(3), RETURN VALUE).
type Fault = provider.Fault //nolint:errname // as there

// The faults, named as on the pages (DAT_INVALID_STATE is ErrInvalidState).
const (
	// ErrInvalidState says that an object was not in a state that allows the call.
	ErrInvalidState = provider.ErrInvalidState
	// ErrInvalidParameter says that an argument, or a combination of them, is out
	// of range.
	ErrInvalidParameter = provider.ErrInvalidParameter
	// ErrInvalidHandle says that an object is nil, was freed, or belongs to another
	// adapter.
	ErrInvalidHandle = provider.ErrInvalidHandle
	// ErrInvalidAddress says that an address cannot be used by this adapter.
	ErrInvalidAddress = provider.ErrInvalidAddress
	// ErrInsufficientResources says that a limit or the machine is exhausted.
	ErrInsufficientResources = provider.ErrInsufficientResources
	// ErrModelNotSupported says that the provider cannot do what was asked, ever.
	ErrModelNotSupported = provider.ErrModelNotSupported
	// ErrProtectionViolation says that local memory of a posted request lies outside
	// its region or in a region of another protection domain.
	ErrProtectionViolation = provider.ErrProtectionViolation
	// ErrPrivilegesViolation says that a region lacks the access right needed.
	ErrPrivilegesViolation = provider.ErrPrivilegesViolation
)

// Causes of events and of refusals. They are found in Event.Err and in the Err of
// an OpError.
var (
	// ErrBacklogFull says that a listener had no room for one more request.
	ErrBacklogFull = errors.New("backlog is full")
	// ErrNotListening says that no listener is at the requested address.
	ErrNotListening = errors.New("nothing listens there")
	// ErrQoSRefused says that the remote provider does not support the requested quality of
	// service.
	ErrQoSRefused = errors.New("quality of service is not supported by the peer")
	// ErrDepthRefused says that the read depths of the two sides are incompatible.
	ErrDepthRefused = errors.New("read depths of the two sides do not fit")
	// ErrOverflow says that a completion queue had no room for an event. The queue
	// is dead, and so is the endpoint that fed it.
	ErrOverflow = errors.New("completion queue overflowed")
	// ErrRemoved says that the device of the adapter is gone, or cannot be used any more.
	ErrRemoved = errors.New("device was removed")
	// ErrClosed says that the adapter or the completion queue was closed.
	ErrClosed = errors.New("closed")
)

// OpError is the error of one call: what was tried, where, and why not.
type OpError struct {
	// Op is the operation: "connect", "accept", "post send", ...
	Op string
	// Provider is the provider's name: "iwarp", "rdmacm", ...
	Provider string
	// Peer is the other end's address, or empty.
	Peer string
	// Fault is the class of the pages.
	Fault Fault
	// Err is the cause, or nil when the fault says it all.
	Err error
}

// Error implements error.
func (e *OpError) Error() string {
	s := e.Op + " " + e.Provider
	if e.Peer != "" {
		s += " " + e.Peer
	}
	fault := e.Fault.Error()
	switch {
	case e.Err == nil:
		return s + ": " + fault
	case strings.Contains(e.Err.Error(), fault): // providers wrap it into the cause
		return s + ": " + e.Err.Error()
	}
	return s + ": " + fault + ": " + e.Err.Error()
}

// Unwrap returns the fault and the cause, so that errors.Is finds both.
func (e *OpError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Fault}
	}
	return []error{e.Fault, e.Err}
}

package verbs

import (
	"errors"
	"strings"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Fault is a return code of the manual pages. A Fault is an error. errors.Is finds in it the errno
// that librdmacm would set for this error (rdma_connect(3), RETURN VALUE).
type Fault = provider.Fault //nolint:errname // as in package provider

// The faults. Their names follow the manual pages: DAT_INVALID_STATE is ErrInvalidState.
const (
	// ErrInvalidState means that an object was not in a state that allows the call.
	ErrInvalidState = provider.ErrInvalidState
	// ErrInvalidParameter means that an argument, or a combination of arguments, is out of range.
	ErrInvalidParameter = provider.ErrInvalidParameter
	// ErrInvalidHandle means that an object is nil, was freed, closed or answered, or belongs to another
	// adapter, or that the adapter is closed or has failed.
	ErrInvalidHandle = provider.ErrInvalidHandle
	// ErrInvalidAddress means that an address cannot be used by this adapter.
	ErrInvalidAddress = provider.ErrInvalidAddress
	// ErrInsufficientResources means that a limit is reached, or that the host lacks a resource.
	ErrInsufficientResources = provider.ErrInsufficientResources
	// ErrModelNotSupported means that the provider does not have the requested feature.
	ErrModelNotSupported = provider.ErrModelNotSupported
	// ErrProtectionViolation means that local memory of a posted request lies outside
	// its region or in a region of another protection domain.
	ErrProtectionViolation = provider.ErrProtectionViolation
	// ErrPrivilegesViolation means that a region lacks a necessary access right, or that a local key
	// names no region.
	ErrPrivilegesViolation = provider.ErrPrivilegesViolation
)

// The causes of events and of failed calls. Event.Err and OpError.Err hold them, and
// CompletionQueue.Err returns some of them.
var (
	// ErrBacklogFull means that a listener, or its completion queue, had no room for another
	// connection request.
	ErrBacklogFull = errors.New("backlog is full")
	// ErrNotListening means that no listener is at the requested address.
	ErrNotListening = errors.New("nothing listens there")
	// ErrQoSRefused means that the remote provider does not support the requested quality of
	// service or does not support several paths (ConnectMultipath).
	ErrQoSRefused = errors.New("quality of service is not supported by the peer")
	// ErrDepthRefused means that the read depths of the two sides are incompatible.
	ErrDepthRefused = errors.New("read depths of the two sides are incompatible")
	// ErrOverflow means that a completion queue had no room for an entry. The queue and the
	// endpoint of the entry are dead.
	ErrOverflow = errors.New("completion queue overflowed")
	// ErrRemoved means that the device of the adapter is gone or cannot be used any more.
	ErrRemoved = errors.New("device was removed")
	// ErrClosed means that the adapter was closed, or that the completion queue was freed.
	ErrClosed = errors.New("closed")
)

// OpError is the error of one call. It names the operation, the provider, the peer and the
// cause.
type OpError struct {
	// Op is the operation: "connect", "accept", "post", ...
	Op string
	// Provider is the provider's name: "iwarp", "kernel", ... It is empty if the object of the call is
	// nil.
	Provider string
	// Peer is the address of the peer, the address at which to listen, or the name of the interface
	// to open. It is empty if the operation has none of these, or if the object of the call is not valid.
	Peer string
	// Fault is the return code that the manual pages have for this error.
	Fault Fault
	// Err is the cause. It is nil if Fault describes the error completely.
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
	case strings.Contains(e.Err.Error(), fault): // the text of the cause contains that of the fault
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

package provider

import (
	"fmt"
	"syscall"
)

// Fault is a return code of the manual pages. A Fault is an error. errors.Is finds in it the errno
// that librdmacm would set for this error (rdma_connect(3), RETURN VALUE).
type Fault uint8 //nolint:errname // named like the return code of the pages; its constants are the errors

// The faults. Their names follow the manual pages: DAT_INVALID_STATE is ErrInvalidState.
const (
	// ErrInvalidState means that an object was not in a state that allows the call.
	ErrInvalidState Fault = iota + 1
	// ErrInvalidParameter means that an argument, or a combination of arguments, is out of range.
	ErrInvalidParameter
	// ErrInvalidHandle means that an object is nil, was freed, closed or answered, or belongs to another
	// adapter, or that the adapter is closed or has failed.
	ErrInvalidHandle
	// ErrInvalidAddress means that an address cannot be used by this adapter.
	ErrInvalidAddress
	// ErrInsufficientResources means that a limit is reached, or that the host lacks a resource.
	ErrInsufficientResources
	// ErrModelNotSupported means that the provider does not have the requested feature.
	ErrModelNotSupported
	// ErrProtectionViolation means that local memory of a posted request lies outside
	// its region or in a region of another protection domain.
	ErrProtectionViolation
	// ErrPrivilegesViolation means that a region lacks a necessary access right, or that a local key
	// names no region.
	ErrPrivilegesViolation
)

// Error implements error.
func (f Fault) Error() string {
	switch f {
	case ErrInvalidState:
		return "invalid state"
	case ErrInvalidParameter:
		return "invalid parameter"
	case ErrInvalidHandle:
		return "invalid handle"
	case ErrInvalidAddress:
		return "invalid address"
	case ErrInsufficientResources:
		return "insufficient resources"
	case ErrModelNotSupported:
		return "model not supported"
	case ErrProtectionViolation:
		return "protection violation"
	case ErrPrivilegesViolation:
		return "privileges violation"
	default:
		return fmt.Sprintf("fault %d", uint8(f))
	}
}

// Errno returns the errno that a call of librdmacm sets for this fault.
func (f Fault) Errno() syscall.Errno {
	switch f {
	case ErrInvalidHandle:
		return syscall.EBADF
	case ErrInvalidAddress:
		return syscall.EADDRNOTAVAIL
	case ErrInsufficientResources:
		return syscall.ENOMEM
	case ErrModelNotSupported:
		return syscall.EOPNOTSUPP
	case ErrProtectionViolation:
		return syscall.EFAULT
	case ErrPrivilegesViolation:
		return syscall.EACCES
	default:
		return syscall.EINVAL
	}
}

// Is reports whether target is the errno of the fault. errors.Is(err, syscall.EINVAL) calls it.
func (f Fault) Is(target error) bool {
	errno, ok := target.(syscall.Errno)
	return ok && errno == f.Errno()
}

package uverbs

import (
	"errors"
	"fmt"
)

// The causes that are not the kernel's.
var (
	// ErrNoDevice says that the kernel has no such device.
	ErrNoDevice = errors.New("no such RDMA device")
	// ErrUnknownDriver says that the layout of a device's queues is known to its driver's
	// library alone.
	ErrUnknownDriver = errors.New("the queues of the device's driver are known to libibverbs alone")
	// ErrAnswer says that the driver's answer to a command makes no sense.
	ErrAnswer = errors.New("the driver's answer cannot be right")
	// ErrFull says that a queue has no room.
	ErrFull = errors.New("queue is full")
	// ErrRequest says that the device cannot carry out such a request, ever.
	ErrRequest = errors.New("the device has no such request")
	// ErrClosed says that the object was closed.
	ErrClosed = errors.New("closed")
)

// Error is the error of one call.
type Error struct {
	// Op is what was tried: "open", "register memory", ...
	Op string
	// Device is the kernel's name of the device.
	Device string
	// Err is the cause: an errno of the kernel, or one of this package.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("uverbs: %s, device %s: %v", e.Op, e.Device, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PermissionError says that this user may not open the device's file.
type PermissionError struct {
	File string
	Err  error
}

// Error implements error.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("%s: %v: the file needs to be readable and writable, for instance by a group that the user is in (udev rule KERNEL==\"uverbs*\", MODE=\"0660\")", e.File, e.Err)
}

// Unwrap returns the errno.
func (e *PermissionError) Unwrap() error { return e.Err }

// MemlockError says that the limit of locked memory forbids a registration.
type MemlockError struct {
	// Limit, Used and Need are in bytes: RLIMIT_MEMLOCK, what is locked already, and what
	// the registration locks.
	Limit, Used, Need uint64
	Err               error
}

// Error implements error.
func (e *MemlockError) Error() string {
	return fmt.Sprintf("%v: RLIMIT_MEMLOCK allows %d bytes of locked memory, %d are locked and %d more are needed: raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, or memlock in limits.conf)",
		e.Err, e.Limit, e.Used, e.Need)
}

// Unwrap returns the errno.
func (e *MemlockError) Unwrap() error { return e.Err }

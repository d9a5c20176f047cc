package uverbs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The causes of errors that are not errno values of the kernel.
var (
	// ErrNoDevice means that the kernel has no such device.
	ErrNoDevice = errors.New("no such RDMA device")
	// ErrUnknownDriver means that this package does not know the layout of the device's queues.
	// Only libibverbs, with the provider for this driver, knows it.
	ErrUnknownDriver = errors.New("the queues of the device's driver are known only to libibverbs")
	// ErrAnswer means that the driver's answer to a command is invalid.
	ErrAnswer = errors.New("the driver's answer cannot be right")
	// ErrFull means that a queue has no room at present.
	ErrFull = errors.New("queue is full")
	// ErrRequest means that the device cannot carry out a request of this form at any time.
	ErrRequest = errors.New("the device does not support this request")
	// ErrClosed means that the object was closed.
	ErrClosed = errors.New("closed")
)

// Error is the error of an operation.
type Error struct {
	// Op is the name of the operation: "open", "register memory", ...
	Op string
	// Device is the kernel's name of the device.
	Device string
	// Err is the cause: an errno of the kernel, or an error of this package.
	Err error
}

// Error implements error. For EAGAIN it adds that a limit is reached, because the kernel's text does not say so.
func (e *Error) Error() string {
	s := fmt.Sprintf("uverbs: %s, device %s: %v", e.Op, e.Device, e.Err)
	if errors.Is(e.Err, unix.EAGAIN) {
		s += ": a limit of the cgroup (rdma.max) or of the device is reached"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// PermissionError means that this user may not open the device file.
type PermissionError struct {
	File string
	Err  error
}

// Error implements error.
func (e *PermissionError) Error() string {
	if errors.Is(e.Err, unix.EPERM) {
		return fmt.Sprintf("%s: %v: the container does not have the device: run it with --device %s", e.File, e.Err, e.File)
	}
	return fmt.Sprintf("%s: %v: the file needs to be readable and writable, for instance by a group that the user is in (udev rule KERNEL==\"uverbs*\", MODE=\"0660\")", e.File, e.Err)
}

// Unwrap returns the errno.
func (e *PermissionError) Unwrap() error { return e.Err }

// MemlockError means that a registration failed because of the limit of locked memory.
type MemlockError struct {
	// Limit is RLIMIT_MEMLOCK, Used is the memory that is locked already, and Need is the memory
	// that the registration would lock, all in bytes.
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

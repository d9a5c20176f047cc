package ibverbs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// ErrNotLinked reports that the program was built without cgo and cannot call C functions.
var ErrNotLinked = errors.New("the program was built without cgo and cannot call libibverbs, which adapters other than siw and rxe need: build it with CGO_ENABLED=1 and a C compiler (no header is needed)")

// LibraryError reports that the library cannot be loaded.
type LibraryError struct {
	// File is the name of the library, and Reason is the text of the dynamic loader.
	File, Reason string
}

// Error implements error.
func (e *LibraryError) Error() string {
	return fmt.Sprintf("%s cannot be loaded (%s): adapters other than siw and rxe need it: install the packages libibverbs1 and ibverbs-providers (Debian, Ubuntu) or libibverbs (Red Hat, SUSE)", e.File, e.Reason)
}

// VersionError reports that the library is too old to have a function that this package needs.
type VersionError struct {
	// File is the name of the library, and Symbol is the name of the missing function.
	File, Symbol string
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has no function %s: it is too old: install rdma-core 28 or later", e.File, e.Symbol)
}

// ModuleError reports that the kernel does not offer the interface that the library needs.
type ModuleError struct{ Err error }

// Error implements error.
func (e *ModuleError) Error() string {
	return fmt.Sprintf("the kernel offers no RDMA to programs (%v): its module ib_uverbs is needed: load it (modprobe ib_uverbs)", e.Err)
}

// Unwrap returns the errno.
func (e *ModuleError) Unwrap() error { return e.Err }

// ProviderError reports that the library has no provider for a device of the kernel.
type ProviderError struct {
	// Known contains the names of the devices for which the library has a provider.
	Known []string
}

// Error implements error.
func (e *ProviderError) Error() string {
	known := "no device"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("libibverbs has no provider for the driver of this device (it has found %s): install the package ibverbs-providers (Debian, Ubuntu) or libibverbs (Red Hat, SUSE) of the library's version", known)
}

// err wraps the error of a call with the operation and the device. It returns nil if the error is
// nil.
func (c *Context) err(op string, err error) error {
	if err == nil {
		return nil
	}
	return &uverbs.Error{Op: op, Device: c.Device.Name, Err: err}
}

// nonsense returns a uverbs.ErrAnswer with the reason why the library's answer cannot be right.
func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{uverbs.ErrAnswer}, args...)...)
}

//go:build !linux

package hugepages

import "errors"

// collapse returns an error, because this system has no such call.
func collapse(uintptr, int) error { return errors.ErrUnsupported }

// prefer returns an error, too.
func prefer(uintptr, int) error { return errors.ErrUnsupported }

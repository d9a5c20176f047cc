//go:build !linux

package hugepages

import "errors"

// collapse refuses: nothing is offered here.
func collapse(uintptr, int) error { return errors.ErrUnsupported }

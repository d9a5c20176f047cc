//go:build !linux

package hugepages

import "errors"

// collapse refuses: this system offers no such call.
func collapse(uintptr, int) error { return errors.ErrUnsupported }

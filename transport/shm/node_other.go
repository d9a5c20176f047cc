//go:build !linux || portable

package shm

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport"
)

// mapMemory fails, because in this build ranks are goroutines of one process.
func mapMemory(int, int64) ([]byte, error) {
	return nil, fmt.Errorf("%w: processes share memory only on Linux", transport.ErrNotSupported)
}

func unmapMemory([]byte) error { return nil }

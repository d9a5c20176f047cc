//go:build !linux

package private

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// read refuses: ranks are processes on Linux alone.
func read(node.Process, uint64, []byte) error { return errors.ErrUnsupported }

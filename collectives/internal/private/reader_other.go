//go:build !linux

package private

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// read returns an error, because ranks are processes only on Linux.
func read(node.Process, uint64, []byte) error { return errors.ErrUnsupported }

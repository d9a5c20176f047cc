//go:build !linux

package launch

import "testing"

// Processors does nothing, because gorun binds jobs to processors only on Linux.
func Processors(*testing.T) {}

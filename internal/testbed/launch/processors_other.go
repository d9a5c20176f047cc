//go:build !linux

package launch

import "testing"

// Processors does nothing: gorun binds jobs to processors only on Linux.
func Processors(*testing.T) {}

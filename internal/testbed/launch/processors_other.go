//go:build !linux

package launch

import "testing"

// Processors does nothing: jobs are bound on Linux alone.
func Processors(*testing.T) {}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildTwinsAgain checks that a second comparison can build its twins in the directory of the first. The command
// true stands for a compiler.
func TestBuildTwinsAgain(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		require.NoError(t, buildTwins(dir, "true", []string{"latency"}))
	}
	require.Error(t, buildTwins(dir, "false", []string{"latency"}))
}

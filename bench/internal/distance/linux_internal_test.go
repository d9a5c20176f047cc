//go:build linux

package distance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoundTrip checks that the round-trip time on this machine is positive, and that together calls no function if a
// processor does not exist.
func TestRoundTrip(t *testing.T) {
	if _, err := twoProcessors(); err != nil {
		t.Skipf("TestRoundTrip: %v", err)
	}
	took, err := roundTrip()
	require.NoError(t, err)
	require.Positive(t, took)
	ran := false
	run := func() { ran = true }
	require.Error(t, together([2]int{0, 1023}, run, run), "there is no such processor")
	require.False(t, ran)
}

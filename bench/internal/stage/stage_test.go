package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/stage"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// TestFailedHosts checks that, if the hosts cannot be made, Open ends everything that was started, even if a cleanup
// fails.
func TestFailedHosts(t *testing.T) {
	ended, dir := 0, ""
	_, err := stage.Open(func(s *stage.Stage) {
		dir = s.TempDir()
		s.Cleanup(func() { ended++ })
		s.Cleanup(func() { s.Fatal("still in use") })
		nscluster.StartSSH(s, 1000)
		ended = 10 // not reached
	})
	require.ErrorContains(t, err, "still in use")
	require.Equal(t, 1, ended)
	require.NoDirExists(t, dir)
}

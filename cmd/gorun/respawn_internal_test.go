package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func TestRespawnOption(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for value, restarts := range map[string]int{"respawn": restartsDefault, "respawn=1": 1, "respawn=10000": 10000} {
		o, err := parseOptions([]string{"-np", "2", "-on-failure", value, "x"}, none)
		require.NoError(t, err)
		require.Equal(t, bootstrap.OnFailureRespawn, o.onFailure)
		require.Equal(t, restarts, o.restarts)
	}
	for _, value := range []string{"respawn=", "respawn=0", "respawn=-1", "respawn=x", "respawn=10001", "kill=3", "again"} {
		_, err := parseOptions([]string{"-np", "2", "-on-failure", value, "x"}, none)
		require.Error(t, err, value)
	}
	_, err := parseOptions([]string{"-np", "2", "-host", "h1,h2", "-on-failure", "respawn", "x"}, none)
	require.ErrorContains(t, err, "-on-failure respawn is for jobs on this machine alone")
}

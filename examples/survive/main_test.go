package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestSurvive checks the count of primes when ranks are killed, among them the rank of the farm.
func TestSurvive(t *testing.T) {
	args := []string{"-n", "100000", "-parts", "40"}
	require.Equal(t, "9592 primes below 100000; 0 ranks were killed\n", launch.Example(t, 3, args...))
	for _, c := range []struct {
		ranks     int
		transport string
	}{{1, "shm"}, {3, "shm"}, {3, "rdma"}} {
		out, errors := launch.ExampleEnds(t, 0, c.ranks, []string{"-on-failure", "respawn", "-transport", c.transport}, append(args, "-kill", "3")...)
		if c.ranks == 1 {
			// In a job of one rank, the snapshots are lost with the rank, and the job begins anew.
			continue
		}
		require.Contains(t, out, "9592 primes below 100000; 3 ranks were killed\n", errors)
		for _, rank := range []string{"0", "1", "2"} {
			require.Contains(t, out, "rank "+rank+" is killed\n")
			require.Contains(t, out, "rank "+rank+" is here again, in generation ")
		}
		require.Equal(t, 3, strings.Count(errors, "; it is started again ("), errors)
	}
}

package main_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

const changes = 200

// sum returns the sum that the report of the program states.
func sum(t *testing.T, out string) int {
	t.Helper()
	line := regexp.MustCompile(`(?m)^50 counters, sum (\d+)$`).FindStringSubmatch(out)
	require.NotNil(t, line, out)
	n := 0
	_, err := fmt.Sscan(line[1], &n)
	require.NoError(t, err)
	return n
}

// TestKVStore checks that every change counts once. If a rank dies halfway, its changes that were answered
// count. All changes of the other ranks count, even changes of counters that were at the dead rank.
func TestKVStore(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		out := launch.ExampleWith(t, 4, []string{"-transport", transport}, "-changes", fmt.Sprint(changes))
		require.Equal(t, 4*changes, sum(t, out))
		out = launch.ExampleWith(t, 4, []string{"-transport", transport, "-on-failure", "continue"}, "-changes", fmt.Sprint(changes), "-crash", "2")
		require.Equal(t, 3*changes+changes/2+1, sum(t, out))
		require.Contains(t, out, "rank:2 is lost\n")
	}
	require.Equal(t, changes, sum(t, launch.Example(t, 1, "-changes", fmt.Sprint(changes))))
}

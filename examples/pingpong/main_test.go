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

// TestPingPong checks that the ball returns from every rank in both modes.
func TestPingPong(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		out := launch.ExampleWith(t, 4, []string{"-transport", transport}, "-rounds", "200")
		lines := regexp.MustCompile(`(?m)^(inline|worker): 200 round trips with rank [123], \S+ each$`).FindAllString(out, -1)
		require.Len(t, lines, 6, out)
	}
	_, errors := launch.ExampleEnds(t, 1, 1, nil)
	require.Contains(t, errors, "pingpong needs 2 ranks")
}

// TestExplainedActors checks that -explain prints the tree of actors of each rank once. The tree includes the
// actors of the rank's connections.
func TestExplainedActors(t *testing.T) {
	_, out := launch.ExampleEnds(t, 0, 2, []string{"-transport", "rdma", "-explain"}, "-rounds", "10")
	for rank := range 2 {
		tree := regexp.MustCompile(fmt.Sprintf(`(?m)^actors of rank %d:\n(  .+\n)+`, rank)).FindAllString(out, -1)
		require.Len(t, tree, 1, out)
		require.Regexp(t, fmt.Sprintf(`(?m)^  \$rdma +supervisor of connections, runs\n    rank%d +connection, connected$`, 1-rank), tree[0])
		require.Regexp(t, `(?m)^  \$names +worker, idle$`, tree[0])
	}
}

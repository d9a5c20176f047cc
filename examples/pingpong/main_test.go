package main_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

// The ball comes back from every rank in both modes.
func TestPingPong(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		out := launch.RunWith(t, 4, []string{"-transport", transport}, "-rounds", "200")
		lines := regexp.MustCompile(`(?m)^(inline|worker): 200 round trips with rank [123], \S+ each$`).FindAllString(out, -1)
		require.Len(t, lines, 6, out)
	}
}

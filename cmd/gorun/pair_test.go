package main_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestPair runs jobs on two guest machines, which gorun reaches by ssh. The ranks communicate through the software
// adapters of the two kernels: over RoCE v2 (rxe), and in later jobs over iWARP (siw).
func TestPair(t *testing.T) {
	share := t.TempDir()
	one, two := rdmavm.StartPair(t, rdmavm.Config{Share: share, Limit: 5 * time.Minute, Devices: []string{"rxe:eth1"}})
	t.Setenv("CGO_ENABLED", "0")
	require.NoError(t, launch.Install(filepath.Join("..", ".."), share, nil, "cmd/gorun", "examples/ring", "examples/heat"))
	run := func(t *testing.T, g *rdmavm.Guest, command string) string {
		t.Helper()
		out, status, err := g.Run("export HOME=/tmp; " + command)
		require.NoError(t, err)
		require.Zero(t, status, out)
		return out
	}
	jobs := func(t *testing.T, device string) {
		t.Helper()
		gorun := "./gorun -timeout 100s -host guest1:2,guest2:2 -rdma-device " + device
		out := run(t, one, gorun+" -explain ./ring -laps 100")
		require.Regexp(t, fmt.Sprintf(`rank 0: to rank 3: rdma by kernel on %s .*, 10\.8\.0\.1:\d+ -> 10\.8\.0\.2:\d+,`, device), out)
		require.Regexp(t, `rank 0: to rank 1: shm`, out)
		require.Contains(t, run(t, one, gorun+" ./heat -steps 10"), "step 10 of 10, residual 4.960e-02")
	}
	t.Run("rxe", func(t *testing.T) { jobs(t, "rxe_eth1") })
	for _, g := range []*rdmavm.Guest{one, two} {
		run(t, g, "rdma link delete rxe_eth1 && modprobe siw && rdma link add siw_eth1 type siw netdev eth1")
	}
	t.Run("siw", func(t *testing.T) { jobs(t, "siw_eth1") })
}

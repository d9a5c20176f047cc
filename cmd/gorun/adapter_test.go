package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestAdapter runs whole jobs over the kernel's RDMA adapters, in a guest machine.
func TestAdapter(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 5 * time.Minute})
	t.Setenv("CGO_ENABLED", "0")
	require.NoError(t, launch.Install(filepath.Join("..", ".."), share, nil, "cmd/gorun", "examples/ring", "examples/heat", "examples/kvstore"))
	for _, job := range []struct{ name, command, want string }{
		{"rxe, ring", "-np 2 -rdma-device rxe_dummy0 -explain ./ring", "rdma by kernel on rxe_dummy0"},
		{"rxe by its address, heat", "-np 4 -rdma-device 10.9.0.1 ./heat -steps 40", "residual 1.349e-02"},
		{"rxe, actors", "-np 2 -rdma-device rxe_dummy0 ./kvstore", "50 counters, sum 2000"},
		{"siw, ring", "-np 2 -rdma-device siw_dummy1 -explain ./ring", "rdma by kernel on siw_dummy1"},
		{"siw by its interface, heat", "-np 4 -rdma-device dummy1 ./heat -steps 40", "residual 1.349e-02"},
		{"siw, actors", "-np 2 -rdma-device siw_dummy1 ./kvstore", "50 counters, sum 2000"},
	} {
		t.Run(job.name, func(t *testing.T) {
			out, status, err := g.Run("HOME=/tmp ./gorun -transport rdma -timeout 60s " + job.command)
			require.NoError(t, err)
			require.Zero(t, status, out)
			require.Contains(t, out, job.want)
		})
	}
	t.Run("no such device", func(t *testing.T) {
		out, status, err := g.Run("HOME=/tmp ./gorun -transport rdma -np 2 -rdma-device mlx5_0 ./ring")
		require.NoError(t, err)
		require.Equal(t, 1, status, out)
		require.Contains(t, out, "device mlx5_0: no such RDMA device; there is rxe_dummy0, siw_dummy1")
	})
}

// TestAdapterIsNamed: the flag reaches the ranks, and what no adapter can be called is refused.
func TestAdapterIsNamed(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-rdma-device", "mlx5_0", "sh", "-c", "echo $GORUN_RDMA_DEVICE")
	require.Equal(t, "mlx5_0\nmlx5_0\n", got.out, got.err)
	for _, bad := range []string{"", "a/b", "a b"} {
		got = gorun(t, nil, "-np", "2", "-rdma-device", bad, "true")
		require.NotZero(t, got.code)
		require.Contains(t, got.err, "want the name of an RDMA adapter")
	}
}

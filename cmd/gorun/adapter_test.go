package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestAdapter runs whole jobs over the kernel's software RDMA adapters rxe and siw in a guest machine. The
// jobs must succeed, and jobs with -explain must name the adapter that they use. The test also kills a rank,
// and names an adapter that does not exist.
func TestAdapter(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 8 * time.Minute})
	t.Setenv("CGO_ENABLED", "0")
	require.NoError(t, launch.Install(filepath.Join("..", ".."), share, nil, "cmd/gorun", "examples/ring", "examples/heat", "examples/kvstore", "bench/npb", "bench/loss"))
	for _, job := range []struct{ name, command, want string }{
		{"rxe, ring", "-np 2 -rdma-device rxe_dummy0 -explain ./ring", "rdma by kernel on rxe_dummy0"},
		{"rxe by its address, heat", "-np 4 -rdma-device 10.9.0.1 ./heat -steps 10", "residual 4.960e-02"},
		{"rxe, conjugate gradient", "-np 4 -rdma-device rxe_dummy0 ./npb -kernel cg -class S", "VERIFICATION SUCCESSFUL"},
		{"rxe, actors", "-np 2 -rdma-device rxe_dummy0 ./kvstore -changes 100", "50 counters, sum 200"},
		{"siw, ring", "-np 2 -rdma-device siw_dummy1 -explain ./ring", "rdma by kernel on siw_dummy1"},
		{"siw by its interface, heat", "-np 4 -rdma-device dummy1 ./heat -steps 10", "residual 4.960e-02"},
		{"siw, conjugate gradient", "-np 4 -rdma-device siw_dummy1 ./npb -kernel cg -class S", "VERIFICATION SUCCESSFUL"},
		{"siw, actors", "-np 2 -rdma-device siw_dummy1 ./kvstore -changes 100", "50 counters, sum 200"},
	} {
		t.Run(job.name, func(t *testing.T) {
			out, status, err := g.Run("HOME=/tmp ./gorun -transport rdma -timeout 120s " + job.command)
			require.NoError(t, err)
			require.Zero(t, status, out)
			require.Contains(t, out, job.want)
		})
	}
	t.Run("no message comes without a receive", func(t *testing.T) {
		out, status, err := g.Run("cd /sys/class/infiniband/rxe_dummy0/ports/1/hw_counters && cat rcvd_rnr_err send_rnr_err retry_rnr_exceeded_err")
		require.NoError(t, err)
		require.Zero(t, status, out)
		require.Equal(t, "0\n0\n0\n", out)
	})
	for name, device := range map[string]string{"rxe": "rxe_dummy0", "siw": "siw_dummy1"} {
		t.Run(name+", a rank is killed that others read from", func(t *testing.T) { rankIsKilled(t, g, device) })
	}
	t.Run("no such device", func(t *testing.T) {
		out, status, err := g.Run("HOME=/tmp ./gorun -transport rdma -np 2 -rdma-device mlx5_0 ./ring")
		require.NoError(t, err)
		require.Equal(t, 1, status, out)
		require.Contains(t, out, "device mlx5_0: no such RDMA device; there is rxe_dummy0, siw_dummy1")
	})
}

// rankIsKilled runs two jobs in which rank 1 is killed while other ranks read from its memory. With
// -on-failure continue, the other ranks must be notified of the loss; they handle it, so that the job does not fail.
// After both jobs, no process or RDMA resource may be left.
func rankIsKilled(t *testing.T, g *rdmavm.Guest, device string) {
	t.Helper()
	for onFailure, want := range map[string]struct {
		status int
		says   string
	}{
		"continue": {0, "was killed by SIGKILL (signal 9, killed); the others go on"},
		"kill":     {128 + 9, "first failure: rank 1 "},
	} {
		out, status, err := g.Run("HOME=/tmp ./gorun -np 3 -transport rdma -timeout 60s -rdma-device " + device + " -on-failure " + onFailure + " ./loss -reading 67108864")
		require.NoError(t, err)
		require.Equal(t, want.status, status, out)
		require.Contains(t, out, want.says)
		require.Regexp(t, `rank 1 .* was killed by SIGKILL`, out)
		if onFailure == "continue" {
			require.Regexp(t, `(?m)^0 +\d+\.\d+$`, out, "rank 0 has heard from rank 2 that it was notified, too")
			require.Regexp(t, `# in the middle of a message: [12] of 2`, out)
			require.NotContains(t, out, "exited with code")
		}
	}
	// The one queue pair that remains belongs to the kernel's connection manager.
	out, status, err := g.Run("pidof loss; rdma resource; rdma resource show qp link " + device + " | grep -v GSI; true")
	require.NoError(t, err)
	require.Zero(t, status, out)
	require.Regexp(t, `^0: rxe_dummy0: pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0 srq 0 *\n1: siw_dummy1: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0 srq 0 *\n$`, out)
}

// TestAdapterIsNamed checks that the value of -rdma-device reaches the ranks. gorun must refuse a value that
// cannot be the name of an adapter.
func TestAdapterIsNamed(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-rdma-device", "mlx5_0", "sh", "-c", "echo $GORUN_RDMA_DEVICE")
	require.Equal(t, "mlx5_0\nmlx5_0\n", got.out, got.err)
	for _, bad := range []string{"", "a/b", "a b"} {
		got = gorun(t, nil, "-np", "2", "-rdma-device", bad, "true")
		require.NotZero(t, got.code)
		require.Contains(t, got.err, "want the name of an RDMA adapter")
	}
}

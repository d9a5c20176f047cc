package main_test

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestFailoverOfAdapters: in a guest machine a job takes an adapter by itself, and goes over to
// TCP when the adapter is deleted in its midst, with the same result.
func TestFailoverOfAdapters(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 5 * time.Minute, Devices: []string{"rxe:dummy0"}})
	t.Setenv("CGO_ENABLED", "0")
	require.NoError(t, launch.Install(filepath.Join("..", ".."), share, nil, "cmd/gorun", "examples/ring", "examples/heat"))
	run := func(t *testing.T, command string) string {
		t.Helper()
		out, status, err := g.Run("export HOME=/tmp; " + command)
		require.NoError(t, err)
		require.Zero(t, status, out)
		return out
	}
	const gorun = "./gorun -transport rdma -timeout 100s -np 2 -explain "
	t.Run("without an adapter", func(t *testing.T) {
		out := run(t, gorun+"-rdma-device none ./ring")
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*; not an adapter: GORUN_RDMA_DEVICE=none`, out)
	})
	t.Run("by itself", func(t *testing.T) {
		out := run(t, gorun+"./ring")
		require.Contains(t, out, "rdma by kernel on rxe_dummy0")
		require.NotContains(t, out, "rdma by iwarp")
	})
	t.Run("deleted", func(t *testing.T) {
		residual := regexp.MustCompile(`step 60 of 60, residual \S+`)
		want := residual.FindString(run(t, gorun+"-rdma-device none ./heat -steps 60 -every 10"))
		require.NotEmpty(t, want)
		out := run(t, gorun+`./heat -steps 60 -every 10 >out 2>&1 &
			until grep -q 'step' out; do sleep 0.05; done
			rdma link delete rxe_dummy0
			wait $! || status=$?
			cat out; exit $status`)
		require.Contains(t, out, want)
		require.Regexp(t, `adapter rxe_dummy0: .*; its connections are made again on other adapters`, out)
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*connected 2 times.*; not rxe_dummy0: `, out)
	})
	t.Run("no device", func(t *testing.T) {
		out := run(t, gorun+"./ring")
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*; not an adapter: the kernel has no RDMA device`, out)
	})
}

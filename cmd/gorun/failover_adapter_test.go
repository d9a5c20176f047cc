package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestFailoverOfAdapters runs jobs in a guest machine. Without -rdma-device, a job chooses an RDMA adapter
// itself. When the adapter in use is deleted during the job, the connections must move to another permitted adapter,
// or to TCP if there is none. The program ./stream fails if a message is lost, repeated, damaged or out of
// order.
func TestFailoverOfAdapters(t *testing.T) {
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Limit: 6 * time.Minute, Devices: []string{"rxe:dummy0", "siw:dummy1", "rxe:dummy2"}})
	t.Setenv("CGO_ENABLED", "0")
	require.NoError(t, launch.Install(filepath.Join("..", ".."), share, nil, "cmd/gorun", "examples/ring", "internal/testbed/rdmavm/stream"))
	run := func(t *testing.T, command string) string {
		t.Helper()
		out, status, err := g.Run("export HOME=/tmp; " + command)
		require.NoError(t, err)
		require.Zero(t, status, out)
		return out
	}
	const gorun = "./gorun -transport rdma -timeout 150s -np 2 -explain "
	// stream runs the program. It runs the command after5 after the program's fifth round, and the command
	// after15 after the fifteenth round.
	stream := func(t *testing.T, device, after5, after15 string) string {
		t.Helper()
		out := run(t, `rm -f out
			{ `+gorun+device+` ./stream -rounds 25 >out 2>&1; echo "status $?" >>out; } &
			reached() { until grep -qE "^(round $1|status .*)$" out; do sleep 0.05; done; }
			used() { rdma resource show qp | sed -n 's,^link \([^/]*\)/.* type RC state RTS .* comm stream.*,\1,p' | head -n 1; }
			reached 5; `+after5+`
			reached 15; `+after15+`
			wait; cat out; grep -qx "status 0" out`)
		require.Contains(t, out, "25 rounds: each message once, in order and whole")
		return out
	}
	t.Run("without an adapter", func(t *testing.T) {
		out := run(t, gorun+"-rdma-device none ./ring")
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*; not an adapter: GORUN_RDMA_DEVICE=none`, out)
	})
	t.Run("by itself", func(t *testing.T) {
		out := run(t, gorun+"./ring")
		require.Regexp(t, `rdma by kernel on rxe_dummy[02] `, out)
		require.NotContains(t, out, "rdma by iwarp")
	})
	t.Run("siw is deleted", func(t *testing.T) {
		out := stream(t, "-rdma-device siw_dummy1", "rdma link delete siw_dummy1", "true")
		require.Contains(t, out, "adapter siw_dummy1: device was removed: ")
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*connected [2-9] times.*; not siw_dummy1: `, out)
	})
	t.Run("rxe is deleted, and the other one", func(t *testing.T) {
		const remove = `until d=$(used); [ -n "$d" ] || grep -q ^status out; do sleep 0.05; done; echo "left: $d"; rdma link delete "$d"`
		out := stream(t, "", remove, remove)
		for _, name := range []string{"rxe_dummy0", "rxe_dummy2"} {
			require.Contains(t, out, "left: "+name)
			require.Regexp(t, `adapter `+name+`: device was removed: .*; its connections are made again on other adapters`, out)
		}
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*connected [3-9] times.*; not rxe_dummy[02]: `, out)
	})
	t.Run("no device", func(t *testing.T) {
		out := run(t, gorun+"./ring")
		require.Regexp(t, `rdma by iwarp on 127\.0\.0\.1 .*; not an adapter: the kernel has no RDMA device`, out)
	})
}

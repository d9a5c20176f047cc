package rdma_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
)

// inFewPorts is set in the environment of a process whose network namespace has 64 ephemeral ports.
const inFewPorts = "GORUN_TEST_IN_FEW_PORTS"

// TestMoreConnectionsThanPorts makes 91 connections between 14 ranks of a host with 64 ephemeral ports, and checks that
// a message arrives on each. This is possible because connections to different ranks may have the same local port.
func TestMoreConnectionsThanPorts(t *testing.T) {
	if os.Getenv(inFewPorts) == "" {
		inside := func(command ...string) ([]byte, error) {
			prepare := `ip link set lo up && echo "40000 40063" >/proc/sys/net/ipv4/ip_local_port_range && exec "$0" "$@"`
			c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", prepare}, command...)...)
			c.Env = append(os.Environ(), inFewPorts+"=1")
			c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}
			return c.CombinedOutput()
		}
		if out, err := inside("true"); err != nil {
			t.Skipf("needs leave for a network namespace: %v: %s", err, out)
		}
		out, err := inside(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}
	const n = 14
	ranks := newWorld(t, loopback(iwarp.New(iwarp.Config{}), n), func(c *rdma.Config) { c.GiveUp = patience / 2 }).ranks(t)
	sent := make(map[[2]int]bool)
	pump(t, ranks, "a message of each pair", func() bool {
		arrived := 0
		for i, r := range ranks {
			require.Empty(t, r.downs)
			arrived += r.arrivals
			for j := i + 1; j < n; j++ {
				if pair := [2]int{i, j}; !sent[pair] {
					sent[pair] = r.to(j).Send(transport.Header{}, nil) == nil
				}
			}
		}
		return arrived == n*(n-1)/2
	})
}

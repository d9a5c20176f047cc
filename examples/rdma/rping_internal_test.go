package main

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestRping runs the program as client and as server of rping. rping runs on Linux's siw in a guest machine.
// In each of the two roles, the program runs once in the guest and once on this machine.
func TestRping(t *testing.T) {
	const rounds, size = 5, 4000
	share := t.TempDir()
	g := rdmavm.Start(t, rdmavm.Config{Share: share, Devices: []string{"siw:dummy1", "siw:eth0"}, Forward: []int{7174}, Limit: 3 * time.Minute})
	rdmavm.TestProgram(t, share)
	const (
		within    = programMark + "=1 ./tests"
		listening = "until grep -q ':%04X .* 0A ' /proc/net/tcp /proc/net/tcp6; do usleep 20000; done"
	)
	inside := func(t *testing.T, command string) string {
		t.Helper()
		out, status, err := g.Run(command)
		require.NoError(t, err)
		require.Zero(t, status, "%s: %s", command, out)
		return out
	}
	start := func(t *testing.T, command string) *rdmavm.Command {
		t.Helper()
		c, err := g.Start(command)
		require.NoError(t, err)
		return c
	}
	// succeeds waits for the end of a command and requires that the command succeeded.
	succeeds := func(t *testing.T, c *rdmavm.Command) string {
		t.Helper()
		status, err := c.Wait()
		require.NoError(t, err)
		require.Zero(t, status, "%s", c.Output())
		return c.Output()
	}
	t.Run("client, from within", func(t *testing.T) {
		server := start(t, fmt.Sprintf("timeout 60 rping -s -V -S %d -a 10.9.1.1 -p 7180", size))
		inside(t, fmt.Sprintf(listening, 7180))
		said := inside(t, fmt.Sprintf("%s -connect 10.9.1.1:7180 -count %d -size %d", within, rounds, size))
		require.Regexp(t, fmt.Sprintf(`^%d rounds of %d bytes verified`, rounds, size), said)
		succeeds(t, server)
	})
	t.Run("server, from within", func(t *testing.T) {
		server := start(t, within+" -listen 10.9.1.1:7181 -v")
		inside(t, fmt.Sprintf(listening, 7181))
		inside(t, fmt.Sprintf("timeout 60 rping -c -V -S %d -a 10.9.1.1 -p 7181 -C %d", size, rounds))
		require.Regexp(t, fmt.Sprintf(`(round \d: read and wrote %d bytes: "rdma-ping-\d: .*"\n){%d}%d rounds verified\n$`, size, rounds, rounds), succeeds(t, server))
	})
	t.Run("client, from outside", func(t *testing.T) {
		server := start(t, fmt.Sprintf("timeout 60 rping -s -V -S %d -a 10.0.2.15 -p 7174", size))
		inside(t, fmt.Sprintf(listening, 7174))
		var out bytes.Buffer
		o := options{connect: fmt.Sprintf("127.0.0.1:%d", g.Port(7174)), count: rounds, size: size, timeout: patience}
		require.NoError(t, run(t.Context(), &o, log.New(&out, "", 0)))
		require.Regexp(t, fmt.Sprintf(`^%d rounds of %d bytes verified`, rounds, size), out.String())
		succeeds(t, server)
	})
	t.Run("server, from outside", func(t *testing.T) {
		address, end := begin(t, "127.0.0.1:0")
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		succeeds(t, start(t, fmt.Sprintf("timeout 60 rping -c -V -S %d -a 10.0.2.2 -p %s -C %d", size, port, rounds)))
		require.NoError(t, ended(t, end))
	})
}

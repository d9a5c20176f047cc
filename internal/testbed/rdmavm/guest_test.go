package rdmavm_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/rdmavm"
)

// TestGuest boots one guest. It checks the exit codes and the output of commands, the shared directory, a
// test program, a forwarded port and both software drivers. No temporary file may be left.
func TestGuest(t *testing.T) {
	temporary, share := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	require.NoError(t, os.WriteFile(filepath.Join(share, "in"), []byte("from outside"), 0o644))
	rdmavm.TestProgram(t, share)
	t.Run("", func(t *testing.T) {
		g := rdmavm.Start(t, rdmavm.Config{Share: share, Forward: []int{7000}, Limit: 4 * time.Minute})
		run := func(command string, want int) string {
			out, status, err := g.Run(command)
			require.NoError(t, err)
			require.Equal(t, want, status, "%s: %s", command, out)
			return out
		}
		require.Equal(t, "from outside", run("cat in; echo from inside >out; exit 7", 7))
		text, err := os.ReadFile(filepath.Join(share, "out"))
		require.NoError(t, err)
		require.Equal(t, "from inside\n", string(text))
		require.Contains(t, run("./tests -test.run ^TestNothingIsAskedFor$ -test.v", 0), "PASS: TestNothingIsAskedFor")

		// The command waits for another command, and for a connection from this machine.
		waits, err := g.Start("echo hello | nc -l -p 7000; echo heard")
		require.NoError(t, err)
		run("until grep -q ':1B58 ' /proc/net/tcp /proc/net/tcp6; do usleep 10000; done", 0)
		c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", g.Port(7000)))
		require.NoError(t, err)
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "hello\n", line)
		require.NoError(t, c.Close())
		status, err := waits.Wait()
		require.NoError(t, err)
		require.Zero(t, status)
		require.Equal(t, "heard\n", waits.Output())

		// Both kinds of software RDMA of the kernel work.
		for device, address := range map[string]string{"rxe": "10.9.0.1", "siw": "10.9.1.1"} {
			out := run("rdma link; rping -s -a "+address+" -C 2 & until rdma resource show cm_id | grep -qE 'LISTEN.*src-addr "+address+":7174( |$)'; do usleep 20000; done; rping -c -v -C 2 -a "+address, 0)
			require.Contains(t, out, device+"_dummy")
			require.Contains(t, out, "ping data: rdma-ping-1: BCD")
		}
	})
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestGuestHasALimit checks that a guest ends when its limit is over, and that its commands end
// too.
func TestGuestHasALimit(t *testing.T) {
	if os.Getenv("GORUN_RDMA_VM") != "1" {
		t.Skip("GORUN_RDMA_VM=1, with which the tests boot an emulated machine, is not set")
	}
	g, err := rdmavm.Boot(t.Context(), rdmavm.Config{Limit: 20 * time.Second})
	if errors.Is(err, rdmavm.ErrMissing) {
		t.Skip(err.Error())
	}
	if errors.Is(err, rdmavm.ErrGone) {
		// On a slow machine, the limit may be over before the guest has booted.
		return
	}
	require.NoError(t, err)
	_, _, err = g.Run("sleep 1000")
	require.ErrorIs(t, err, rdmavm.ErrGone)
	_, err = g.Start("true")
	require.ErrorIs(t, err, rdmavm.ErrGone)
	g.Close() // Close of an ended guest has no effect
}

// TestNothingIsAskedFor checks that Boot and Image name one missing program if PATH has none, and that Start
// skips the test if GORUN_RDMA_VM is not 1.
func TestNothingIsAskedFor(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := rdmavm.Boot(t.Context(), rdmavm.Config{})
	require.ErrorIs(t, err, rdmavm.ErrMissing)
	require.EqualError(t, err, "rdmavm: cannot have a guest: qemu-system-x86_64 is missing (apt-get install qemu-system-x86)")
	_, err = rdmavm.Image(t.Context())
	require.ErrorContains(t, err, "apt-get is missing (apt-get install apt)")
	t.Setenv("GORUN_RDMA_VM", "")
	skipped := t.Run("skips", func(t *testing.T) {
		t.Cleanup(func() { require.True(t, t.Skipped()) })
		rdmavm.Start(t, rdmavm.Config{})
	})
	require.True(t, skipped)
}

package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// hearFromAll exchanges messages with all ranks at the same time.
func hearFromAll(w *runtime.World) error {
	const n = 100
	c := w.Comm()
	got := make([]int32, c.Size()*n)
	requests := make([]runtime.Request, 0, 2*c.Size())
	for peer := range c.Size() {
		requests = append(requests, runtime.Irecv(c, got[peer*n:][:n], peer, 3))
	}
	for peer := range c.Size() {
		block := make([]int32, n)
		for i := range block {
			block[i] = int32(c.Rank()<<16 | peer<<7 | i)
		}
		requests = append(requests, runtime.Isend(c, block, peer, 3))
	}
	if err := runtime.WaitAll(requests); err != nil {
		return err
	}
	for i, x := range got {
		if want := int32(i/n<<16 | c.Rank()<<7 | i%n); x != want {
			return fmt.Errorf("element %d from rank %d is %#x, not %#x", i%n, i/n, x, want)
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d heard from %d\n", c.Rank(), c.Size())
	return nil
}

// Every rank exchanges messages with every other rank at the same time, in a job of 64 ranks, or of 256 ranks with
// GORUN_SOAK=1.
func TestManyRanksExchangeWithAll(t *testing.T) {
	n := 64
	if soak() {
		n = 256
	}
	r := launch(t, n, "all")
	require.Zero(t, r.code, r.errors)
	for rank := range n {
		require.Contains(t, r.out, fmt.Sprintf("rank %d heard from %d\n", rank, n))
	}
}

// Ranks of one node need no network interface. The test runs in a new network namespace, in which even
// the loopback interface is down.
func TestNoNetworkInterfaceIsNeeded(t *testing.T) {
	alone := []string{"-n"}
	if exec.Command("unshare", "-n", "true").Run() != nil {
		alone = []string{"-r", "-n"} // in a user namespace, without privileges
		if err := exec.Command("unshare", "-r", "-n", "true").Run(); err != nil {
			t.Skip("needs leave for a network namespace: unshare:", err)
		}
	}
	self, err := os.Executable()
	require.NoError(t, err)
	command := append([]string{"unshare"}, alone...)
	r := finish(t, nil, append(command, testbed.Gorun(t), "-np", "2", "-x", envProgram+"=all", self)...)
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 2, strings.Count(r.out, "heard from 2\n"), r.out)
}

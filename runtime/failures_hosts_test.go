package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["killnode"] = func() { runtime.Main(killNode) }
}

// TestFailuresOnHosts runs one program of TestFailures, or all of them if GORUN_SOAK is set, on
// three hosts, whose agents collect the votes of their ranks.
func TestFailuresOnHosts(t *testing.T) {
	c := nscluster.Start(t, 3)
	for i := range failurePrograms {
		p := &failurePrograms[i]
		if p.name != "revshrinkkill" && os.Getenv("GORUN_SOAK") == "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) { p.runThere(t, "-host", "h0:2,h1:3,h2:3", "-rsh", c.Rsh()) })
	}
}

// killNode: the last rank kills the agent of its host, and thereby all ranks of the host. The other
// ranks lose these ranks, and shrink to the ranks of the other hosts.
func killNode(w *runtime.World) error {
	c, n := w.Comm(), w.Size()
	near, err := c.Split(w.NodeRank(), 0)
	if err != nil {
		return err
	}
	if _, err := c.Agree(0); err != nil {
		return err
	}
	if w.Rank() == n-1 {
		if err := syscall.Kill(os.Getppid(), syscall.SIGKILL); err != nil {
			return err
		}
	}
	if w.NodeRank() == w.Nodes()-1 {
		_, err := runtime.Recv[byte](c, nil, 0, 1) // until this rank is killed
		return err
	}
	for size := n - w.LocalSize(); ; {
		if _, err := runtime.Recv[byte](c, nil, runtime.AnySource, 2); isLoss(err, -1) != nil && !errors.Is(err, runtime.ErrCommBroken) {
			return err
		}
		c.Ack()
		s, err := c.Shrink()
		if err != nil {
			return err
		}
		if s.Size() == size {
			c = s
			break
		}
		c = s
	}
	if err := errors.Join(meet(c), meet(near)); err != nil { // the communicator of the node is not affected
		return err
	}
	fmt.Fprintf(os.Stdout, "rank %d of %d lives\n", c.Rank(), c.Size())
	lost, _ := w.Comm().Failed()
	for _, rank := range lost.Ranks() {
		if err := w.Handled(rank); err != nil {
			return err
		}
	}
	return nil
}

// After the loss of a host and its agent, Shrink returns a communicator of the others (ULFM's
// stress/kill_node.c).
func TestLostHostIsShrunkAway(t *testing.T) {
	c := nscluster.Start(t, 3)
	r := launch(t, 6, "killnode", "-host", "h0:2,h1:2,h2:2", "-rsh", c.Rsh(), "-on-failure", "continue")
	require.Equal(t, 4, strings.Count(r.out, " of 4 lives\n"), r.out+r.errors)
}

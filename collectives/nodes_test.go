//go:build !portable

package collectives_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
)

// operateOnNodes runs the operations on the World's communicator and on a communicator of the ranks
// of one node.
func operateOnNodes(w *runtime.World) error {
	then := collectives.Func(compose, false)
	half, err := w.Comm().Split(w.NodeRank(), 0)
	if err != nil {
		return err
	}
	for _, c := range []*runtime.Comm{w.Comm(), half} {
		for _, n := range []int{1, 40, 5000} {
			for root := range c.Size() {
				err = errors.Join(err, rooted(c, n, root, then))
			}
			err = errors.Join(err, rootless(c, n, then), collectives.Barrier(c))
			if err != nil {
				return fmt.Errorf("%s, %d elements: %w", c.Name(), n, err)
			}
		}
	}
	for c, want := range map[*runtime.Comm]string{w.Comm(): "5 ranks on several nodes", half: fmt.Sprintf("%d ranks on one node", half.Size())} {
		if got := collectives.Explain(c, "allreduce", 8); !strings.Contains(got, want) {
			return fmt.Errorf("%q does not say %q", got, want)
		}
	}
	fmt.Fprintf(os.Stdout, "rank %d is done\n", w.Rank())
	return nil
}

// In a job on two nodes, operations give right results on the World's communicator, and on a communicator whose
// members are all on one node. Explain reports several nodes for the former and one node for the latter.
func TestSeveralNodes(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command := append([]string{launch.Gorun(t), "-np", "5"}, launch.TwoNodes(t)...)
	r := launch.Run(t, nil, append(command, "-x", envLoss+"=nodes", self)...)
	require.Zero(t, r.Code, r.Errors)
	for rank := range 5 {
		require.Contains(t, r.Out, fmt.Sprintf("rank %d is done\n", rank), r.Errors)
	}
}

package main_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A rank that ends in a pod is started again there.
func TestPodsStartARankAgain(t *testing.T) {
	p := podsOf(t, 2, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "prog", helperPrefix+"generations", "2", "0:3", "1:0")
	other := p.start(t, 1)
	root := p.start(t, 0).end(t)
	require.Zero(t, root.code, root.err)
	require.Zero(t, other.end(t).code)
	require.Contains(t, root.err, "gorun: rank 3 (host "+p.name+"-1, pid ")
	for rank := range 4 {
		require.Contains(t, root.out, fmt.Sprintf("generation 2: rank %d on %s-%d, node %[3]d of 2\n", rank, p.name, rank/2))
	}
	empty(t, p.Cluster)
}

// The ranks of a pod that is lost are started again in one with room, where spares wait for them.
func TestPodsWithRoom(t *testing.T) {
	p := podsOf(t, 3, "-np", "4", "-ppn", "2", "-on-failure", "respawn", "-spares", "2", "prog", helperPrefix+"generations", "1")
	root, lost, roomy := p.start(t, 0), p.start(t, 1), p.start(t, 2)
	for range 4 {
		said(t, root.stdout, "generation 0: rank ")
	}
	require.NoError(t, unix.Kill(p.first(t, 1), unix.SIGKILL))
	require.NotZero(t, lost.end(t).code)
	got := root.end(t)
	require.Zero(t, got.code, got.err)
	require.Zero(t, roomy.end(t).code)
	require.Contains(t, got.err, fmt.Sprintf("host %[1]s-1 is lost with rank 2, 3: the connection ended; they are started again on %[1]s-2 (1 of 3)", p.name))
	for rank, pod := range []int{0, 0, 2, 2} {
		require.Contains(t, got.out, fmt.Sprintf("generation 1: rank %d on %s-%d, node %d of 2\n", rank, p.name, pod, pod/2))
	}
	empty(t, p.Cluster)
}

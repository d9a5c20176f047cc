package shm_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// Explain describes how private memory of a peer is copied. If no Get has probed whether direct
// copies work, Explain makes the probe. It also reports a later refusal of the system.
func TestExplainProbes(t *testing.T) {
	needsAlone(t)
	const head, tail = "rank 1: shm, lane inbox, private memory ", ", arena mapped"
	explained := func(ts []*shm.Transport, want string) {
		t.Helper()
		require.Equal(t, head+want+tail, ts[0].Explain(1))
		require.True(t, ts[0].Known(1))
	}
	read := func(ts []*shm.Transport) {
		t.Helper()
		k, err := ts[1].Expose(pattern(5000, 1), transport.AccessRead)
		require.NoError(t, err)
		require.NoError(t, get(t, ts, make([]byte, 5000), k))
	}

	open := pair(t)
	require.False(t, open[0].Known(1))
	explained(open, "by process_vm_readv (probed)")
	read(open)
	explained(open, "by process_vm_readv (probed)")

	refused := pair(t)
	shm.RefuseDirect(refused[0], unix.EPERM)
	explained(refused, "by staged copy (process_vm_readv: operation not permitted)")
	read(refused)

	later := pair(t)
	shm.RefuseDirectAfter(later[0], 1, unix.EPERM) // the probe succeeds
	explained(later, "by process_vm_readv (probed)")
	read(later)
	explained(later, "by staged copy (process_vm_readv: refused after the probe: operation not permitted)")

	dead := pair(t)
	dead[0].MarkDown(1, errors.New("signal 9"))
	poll(t, dead[0], &log{}, 1)
	explained(dead, "not probed before its end (signal 9)")

	staged, node := mapped(t, 2, shm.Config{DisableCMA: true})
	explained(staged, "by staged copy (process_vm_readv: switched off)")
	for _, tr := range staged {
		require.NoError(t, tr.Close())
	}
	require.NoError(t, node.Close())
	explained(local(t, 2, false), "by copy in one process")
}

// Explain does not probe a rank that has not joined yet, so that it does not record a wrong result.
func TestExplainWaitsForTheRank(t *testing.T) {
	needsAlone(t)
	fd := memory(t, 2)
	node, err := shm.OpenNode(fd, 2, rangeBytes)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	first, err := shm.New(node, shm.Config{Rank: 0, LocalRank: 0})
	require.NoError(t, err)
	require.Contains(t, first.Explain(1), "not probed (the rank has not joined, or has left)")
	second, err := shm.New(node, shm.Config{Rank: 1, LocalRank: 1})
	require.NoError(t, err)
	require.Contains(t, first.Explain(1), "by process_vm_readv (probed)")
	require.NoError(t, second.Close())
	require.NoError(t, first.Close())
	require.NoError(t, node.Close())
}

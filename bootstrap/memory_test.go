//go:build !portable

package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// Node memory takes no memory before its first use. The length in bytes of each rank's range is a power of
// two. A process can neither resize the node memory nor seal it against writes.
func TestNodeMemoryIsSparseAndKeepsItsSize(t *testing.T) {
	for _, ranks := range []int{1, 3, 256, 4096} {
		f, each, err := bootstrap.NodeMemory(ranks)
		require.NoError(t, err)
		require.Zero(t, each&(each-1), "a power of two")
		require.LessOrEqual(t, int64(ranks)*each, int64(1)<<45)
		var st unix.Stat_t
		require.NoError(t, unix.Fstat(int(f.Fd()), &st))
		require.Equal(t, int64(ranks)*each, st.Size)
		require.Zero(t, st.Blocks)
		require.ErrorIs(t, f.Truncate(0), unix.EPERM)
		require.ErrorIs(t, f.Truncate(st.Size+4096), unix.EPERM)
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		require.ErrorIs(t, err, unix.EPERM, "no rank may forbid the others to write")
		_, err = f.WriteAt([]byte{1}, st.Size-1)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

// The range of a single rank is at least as large as the machine's memory, and less than twice as
// large.
func TestNodeMemoryOfOneRankHoldsTheMachine(t *testing.T) {
	f, each, err := bootstrap.NodeMemory(1)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var info unix.Sysinfo_t
	require.NoError(t, unix.Sysinfo(&info))
	ram := int64(info.Totalram) * int64(info.Unit)
	require.GreaterOrEqual(t, each, ram)
	require.Less(t, each, 2*ram)
}

// The node memories of all generations of a job together fit into the 47-bit address space of a rank.
// SharedMemory returns an error if they cannot fit.
func TestNodeMemoryOfGenerations(t *testing.T) {
	for _, ranks := range []int{1, 4, 4096} {
		for _, generations := range []int{1, 4, 100} {
			f, each, shelf, err := bootstrap.SharedMemory(ranks, ranks, generations)
			require.NoError(t, err)
			require.NotNil(t, shelf)
			require.LessOrEqual(t, int64(ranks)*each*int64(generations), int64(1)<<46)
			require.NoError(t, f.Close())
		}
	}
	_, _, _, err := bootstrap.SharedMemory(1<<20, 1, 10001)
	require.ErrorContains(t, err, "in 10001 generations")
}

// NodeMemory returns an error for a number of ranks that is not positive, and for a number that is far too
// large.
func TestNodeMemoryErrors(t *testing.T) {
	for _, ranks := range []int{0, -1, 1 << 30} {
		_, _, err := bootstrap.NodeMemory(ranks)
		require.Error(t, err)
	}
}

// Each call of NewSecret returns a new secret. The file with the secret can be read, but cannot be written.
func TestSecretFileCannotBeChanged(t *testing.T) {
	secret := bootstrap.NewSecret()
	require.NotEqual(t, secret, bootstrap.NewSecret())
	f, err := bootstrap.SecretFile(secret)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	_, err = f.WriteAt([]byte{1}, 0)
	require.ErrorIs(t, err, unix.EPERM)
	var got [32]byte
	_, err = f.ReadAt(got[:], 0)
	require.NoError(t, err)
	require.Equal(t, secret, got)
}

// Each value of EnvHostID gives a node ID of its own, which is the same at each call of ThisNode.
func TestHostIDMakesANodeOfItsOwn(t *testing.T) {
	seen := map[bootstrap.NodeID]bool{}
	for _, id := range []string{"", "a", "b"} {
		t.Setenv(bootstrap.EnvHostID, id)
		node, err := bootstrap.ThisNode()
		require.NoError(t, err)
		again, err := bootstrap.ThisNode()
		require.NoError(t, err)
		require.Equal(t, node, again)
		require.False(t, seen[node], "%q", id)
		seen[node] = true
	}
}

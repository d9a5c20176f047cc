package shm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// After discard the pages are zero in all three cases: the system frees the pages, ignores the advice
// (madvise), or does not support the advice. Any other error of madvise is returned.
func TestDiscard(t *testing.T) {
	for name, c := range map[string]struct {
		err, want error
		obeys     bool
	}{
		"done":          {obeys: true},
		"ignored":       {},
		"not supported": {err: unix.EOPNOTSUPP},
		"not known":     {err: unix.ENOSYS},
		"refused":       {err: unix.EINVAL, want: unix.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Repeat([]byte{7}, 3*pageBytes)
			err := discard(b, func(b []byte) error {
				if c.obeys {
					clear(b)
				}
				return c.err
			})
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, make([]byte, len(b)), b)
			}
		})
	}
}

// Arena.Discard returns pages to the system: afterwards the memfd occupies less memory.
func TestDiscardFreesMemory(t *testing.T) {
	fd, err := unix.MemfdCreate("gorun-test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	const n = 1 << 20
	require.NoError(t, unix.Ftruncate(fd, offArena+4*n))
	node, err := OpenNode(fd, 1, offArena+4*n)
	require.NoError(t, err)
	used := func() int64 {
		var st unix.Stat_t
		require.NoError(t, unix.Fstat(fd, &st))
		return st.Blocks * 512
	}
	a := arena{node, 0}
	b, err := a.Bytes(n, n)
	require.NoError(t, err)
	b[n-1] = 1
	full := bytes.Repeat([]byte{7}, n)
	copy(b, full)
	before := used()
	require.GreaterOrEqual(t, before, int64(n))
	if err := unix.Madvise(b[:largestPage], unix.MADV_REMOVE); err != nil || b[0] != 0 {
		t.Skipf("madvise(MADV_REMOVE): %v, and not done", err)
	}
	require.NoError(t, a.Discard(n, n))
	require.Less(t, used(), before-n/2)
	require.NoError(t, node.Close())
}

package bootstrap_test

import (
	"net"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// allocated returns the bytes that f takes from the heap, in all goroutines.
func allocated(f func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A length that a peer announces costs no memory before the bytes arrive.
func TestLengthsThatAreLiesCostNoMemory(t *testing.T) {
	require.Less(t, allocated(func() {
		mine, theirs := net.Pipe()
		s := bootstrap.Attach(bootstrap.Job{Size: 1, LocalSize: 1, Nodes: 1}, theirs, nil, [32]byte{})
		_, err := mine.Write([]byte{0, 0, 0, 0x3f, bootstrap.KindBook, 1, 2, 3}) // a gigabyte, nearly
		require.NoError(t, err)
		require.NoError(t, mine.Close())
		for n := range s.Notices() {
			require.Contains(t, n.Cause, "unexpected EOF")
		}
		_ = s.Finalize()
	}), uint64(8<<20), "a frame")
	require.Less(t, allocated(func() {
		_, err := bootstrap.ParseRanks("0-16777214", 4, 1<<24)
		require.Error(t, err)
	}), uint64(1<<20), "a range of ranks")
	require.Less(t, allocated(func() {
		_, err := bootstrap.ParseBook([]byte{255, 255, 255, 0, 0, 0})
		require.Error(t, err)
	}), uint64(1<<20), "a book")
}

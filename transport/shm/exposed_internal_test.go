package shm

import (
	goruntime "runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// After a key is removed, the garbage collector can free its memory even while its slot in the
// table stays unused.
func TestConcealLetsGoOfTheMemory(t *testing.T) {
	var x exposures
	memory := func() weak.Pointer[[4096]byte] {
		b := new([4096]byte)
		require.True(t, x.remove(x.add(b[:], transport.AccessRead)))
		return weak.Make(b)
	}()
	goruntime.GC()
	require.Nil(t, memory.Value())
	require.Len(t, x.table, 1)
}

package shm

import (
	goruntime "runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// What was concealed is the collector's, also while its slot is free.
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

package processor_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// TestStorePublishes checks that a goroutine that sees a store sees everything that was written
// before that store.
func TestStorePublishes(t *testing.T) {
	const rounds = 20000
	var data, word uint64
	var seen uint32
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		for i := uint64(1); i <= rounds; i++ {
			for atomic.LoadUint64(&word) != i {
				continue
			}
			if data != i*3 {
				t.Errorf("round %d: data is %d", i, data)
			}
			processor.Store32(&seen, uint32(i))
		}
	}()
	for i := uint64(1); i <= rounds; i++ {
		data = i * 3
		processor.Store64(&word, i)
		for atomic.LoadUint32(&seen) != uint32(i) {
			continue
		}
	}
	both.Wait()
}

func TestStoreWritesItsWordOnly(t *testing.T) {
	a := [3]uint64{1, 2, 3}
	processor.Store64(&a[1], 1<<63|5)
	require.Equal(t, [3]uint64{1, 1<<63 | 5, 3}, a)
	b := [3]uint32{1, 2, 3}
	processor.Store32(&b[1], 1<<31|5)
	require.Equal(t, [3]uint32{1, 1<<31 | 5, 3}, b)
}

func TestHintsChangeNothing(t *testing.T) {
	a := [2]uint64{7, 8}
	processor.PrefetchWrite(&a[1])
	require.Equal(t, [2]uint64{7, 8}, a)
	lines := make([]uint64, 3*8+1)
	for i := range lines {
		lines[i] = uint64(i)
	}
	for _, bytes := range []uint64{0, 1, 64, 65, 3 * 64} {
		processor.PrefetchWriteLines(&lines[0], bytes)
		processor.PrefetchLines(&lines[0], bytes)
		processor.DemoteLines(&lines[0], bytes)
	}
	for i := range lines {
		require.Equal(t, uint64(i), lines[i])
	}
}

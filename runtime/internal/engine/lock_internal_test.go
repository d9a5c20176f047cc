//go:build (amd64 || arm64) && !race

package engine

import (
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutexExcludes checks that the mutex has one holder at a time, and that the next holder sees
// what the previous one wrote. Every goroutine must get the mutex in the end, even if all share a
// processor with a holder that yields.
func TestMutexExcludes(t *testing.T) {
	const goroutines, rounds, giveWay = 8, 2000, 50
	for _, processors := range []int{1, 2} {
		before := goruntime.GOMAXPROCS(processors)
		var m mutex
		var all sync.WaitGroup
		count, inside, worst := 0, 0, 0
		for range goroutines {
			all.Go(func() {
				for i := range rounds {
					m.Lock()
					inside++
					worst = max(worst, inside)
					had := count
					if i%giveWay == 0 {
						goruntime.Gosched()
					}
					count = had + 1
					inside--
					m.Unlock()
				}
			})
		}
		all.Wait()
		goruntime.GOMAXPROCS(before)
		require.Equal(t, goroutines*rounds, count, "%d processors", processors)
		require.Equal(t, 1, worst, "holders at a time with %d processors", processors)
	}
}

// TestMutexTryLock checks that TryLock fails while the mutex is held and succeeds after its
// release.
func TestMutexTryLock(t *testing.T) {
	var m mutex
	require.True(t, m.TryLock())
	require.False(t, m.TryLock())
	m.Unlock()
	m.Lock()
	require.False(t, m.TryLock())
	m.Unlock()
	require.True(t, m.TryLock())
}

package shm

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// After Settle, a rank executes no memory fence when it publishes a message, and its state tells its peers that
// membarrier(2) works. If the kernel has no membarrier, the rank keeps the fences.
func TestSettle(t *testing.T) {
	defer func(b *registration) { barriers = b }(barriers)
	for _, ready := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			barriers = &registration{ended: make(chan struct{})}
			tr := &Transport{node: &Node{ranks: 1}, fences: true, control: heapSegment(controlBytes(ringBytes))}
			state := tr.control.word(offState)
			*state = stateRunning | stateFences
			settled := false
			go func() {
				tr.Settle()
				settled = true
			}()
			synctest.Wait()
			require.False(t, settled)
			barriers.ready.Store(ready)
			close(barriers.ended)
			synctest.Wait()
			require.True(t, settled)
			require.Equal(t, !ready, tr.fences)
			require.Equal(t, !ready, atomic.LoadUint64(state)&stateFences != 0)
		})
	}
}

// Settle returns at once for a rank that needs no barriers.
func TestSettleAtOnce(t *testing.T) {
	defer func(b *registration) { barriers = b }(barriers)
	barriers = &registration{ended: make(chan struct{})} // never closed
	for _, tr := range []*Transport{
		{node: &Node{locals: []*localRange{}}},
		{node: &Node{}, cfg: Config{Alone: true}},
		{node: &Node{}, cfg: Config{DisableMembarrier: true}},
	} {
		tr.Settle()
	}
}

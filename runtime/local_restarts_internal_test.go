package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// A job that starts ranks again keeps the memory of a generation only as long as a process can enter the generation.
func TestMemoryOfOldGenerations(t *testing.T) {
	const restarts = 4
	j, err := newLocalJob(2, engine.WaitPolicy{}, localjob.Config{Restarts: restarts})
	require.NoError(t, err)
	j.start(func(w *World) error {
		return w.Resume(func(w *World) error {
			peer := 1 - w.Rank()
			_, err := SendRecv(w.Comm(), []int{0}, peer, 0, []int{0}, peer, 0) // both ranks are in this generation
			if err != nil || w.Generation() == restarts {
				return err
			}
			if w.Rank() == 1 {
				panic("lost")
			}
			_, err = Recv(w.Comm(), []int{0}, peer, 1)
			return err
		})
	})
	require.NoError(t, j.Wait(t.Context()))
	require.Len(t, j.restarts.places, restarts+1)
	for generation, at := range j.restarts.places[:restarts-1] {
		require.Nil(t, at.node, "generation %d", generation)
	}
	// The memory of generation restarts-1 is dropped if rank 0 is notified of the last restart before the memory of old
	// generations is dropped.
	require.NotNil(t, j.restarts.places[restarts].node)
}

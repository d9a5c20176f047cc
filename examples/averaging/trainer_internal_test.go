package main

import (
	"errors"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestFailedStep checks that a trainer ends with the error of a step, for example after the loss of a rank.
func TestFailedStep(t *testing.T) {
	failed := errors.New("failed")
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		done := make(chan *trainer, perRank)
		one := s.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return &trainer{left: 2, report: done} }))
		s.Root.Send(one, &actors.Result[float64]{Err: failed})
		if _, err := s.Root.PoisonFuture(one).Result(); err != nil {
			return err
		}
		require.Len(t, done, 1)
		require.ErrorIs(t, (<-done).err, failed)
		return nil
	}))
}

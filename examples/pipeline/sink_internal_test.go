package main

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestBadFrames checks that the last stage reports only the first of several bad frames.
func TestBadFrames(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		stage := s.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return &sink{want: 3, stages: 1, done: done} }))
		for _, pixel := range []byte{1, 9, 9, 2, 9} {
			b, err := runtime.Alloc[byte](w, 1)
			if err != nil {
				return err
			}
			b.Bytes()[0] = pixel
			m, err := runtime.NewMessage(b)
			if err != nil {
				return err
			}
			s.Root.Send(stage, m)
		}
		if _, err := s.Root.PoisonFuture(stage).Result(); err != nil {
			return err
		}
		require.EqualError(t, <-done, "pixel 0 of frame 1 is 9")
		require.Empty(t, done)
		return nil
	}))
}

package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestLabelsAgreeWhenTheyAreTheSame checks that a message with a label is received only by a receive with the same
// label. It sends eager and rendezvous messages, to the same rank and to another rank.
func TestLabelsAgreeWhenTheyAreTheSame(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	for _, size := range []int{0, 8, 20_000} {
		for _, to := range []int{0, 1} {
			for _, want := range []uint32{5, 6} {
				t.Run(fmt.Sprintf("%d bytes to %d/%d", size, to, want), func(t *testing.T) {
					in := make([]byte, size)
					r := w.engines[to].Irecv(at(0, 1), engine.TypeLabel|engine.Type(want), in)
					send := w.engines[0].Isend(at(to, 1), engine.TypeLabel|5, pattern(size, 1), engine.Standard)
					_, err := r.Wait(none)
					_, sent := send.Wait(none)
					require.NoError(t, sent)
					if want == 5 {
						require.NoError(t, err)
						require.Equal(t, pattern(size, 1), in)
						return
					}
					var met *engine.LabelError
					require.ErrorAs(t, err, &met)
					require.Equal(t, engine.LabelError{Source: 0, Tag: 1, Sent: 5, Want: want}, *met)
					require.Equal(t, make([]byte, size), in)
				})
			}
		}
	}
}

package collectives

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime"
)

// TestFlightRecorderHasRootAndLength checks the records of calls that differ from the call before in the operation, in
// the root or in the length alone.
func TestFlightRecorderHasRootAndLength(t *testing.T) {
	memory := make([]uint64, flight.Bytes/8) // aligned to 8 bytes
	recorded := kernel.Bytes(memory)
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if err := Barrier(c); err != nil {
			return err
		}
		g, _, err := find(c)
		if err != nil {
			return err
		}
		if g.rank == 1 {
			g.recorder, g.under, g.texts = flight.New(recorded), underway{}, [message.Operations]atomic.Uint32{}
		}
		for _, root := range []int{0, 1, 1, 0} {
			err = errors.Join(err, Bcast(c, make([]byte, 8+root), root), Barrier(c), Bcast(c, make([]byte, 9), root))
		}
		return err
	}))
	log, err := flight.Read(recorded)
	require.NoError(t, err)
	var calls []string
	for _, o := range log.Operations {
		calls = append(calls, fmt.Sprintf("%s %d root %d", o.Op, o.Bytes, o.Peer))
	}
	require.Equal(t, []string{
		"bcast 8 root 0", "barrier 0 root -1", "bcast 9 root 0",
		"bcast 9 root 1", "barrier 0 root -1", "bcast 9 root 1",
		"bcast 9 root 1", "barrier 0 root -1", "bcast 9 root 1",
		"bcast 8 root 0", "barrier 0 root -1", "bcast 9 root 0",
	}, calls)
}

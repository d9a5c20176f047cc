package runtime_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// A rank revokes a communicator and then closes it without receiving a message. The sender of the message gets
// ErrCommBroken and not ErrCommClosed, although both notices may arrive at the same time.
func TestSendsToARankThatBreaksAndCloses(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		for range 100 {
			d, err := w.Comm().Dup()
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				if _, err := runtime.Probe(d, 1, 7); err != nil {
					return err
				}
				d.Revoke(errTestKill)
				if err := d.Close(); !errors.Is(err, runtime.ErrCommBroken) && err != nil {
					return err
				}
				continue
			}
			if err := runtime.Ssend(d, []int{1}, 0, 7); !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("want the break, got %w", err)
			}
			if err := d.Close(); err != nil && !errors.Is(err, runtime.ErrCommBroken) {
				return err
			}
		}
		return nil
	}))
}

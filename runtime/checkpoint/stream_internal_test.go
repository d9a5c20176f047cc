package checkpoint

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// TestDeliveryThatFails checks the delivery of a copy when the keeper is lost in the middle or
// the communicator is revoked. The delivery must end with an error before all blocks are sent.
func TestDeliveryThatFails(t *testing.T) {
	gone := errors.New("gone")
	for name, end := range map[string]func(c *runtime.Comm) error{
		"loss":  func(*runtime.Comm) error { return gone },
		"break": func(c *runtime.Comm) error { c.Break(gone); return gone },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Config{})
			require.NoError(t, err)
			image := writeImage(nil, 3, 2, 0, []Part{Slice(make([]byte, 64*blockBytes))})
			var delivered error
			require.ErrorIs(t, runtime.Local(2, func(w *runtime.World) error {
				c := w.Comm()
				if w.Rank() == 0 {
					delivered = s.deliver(c, 1, image, 3)
					return delivered
				}
				if _, err := runtime.Recv(c, make([]int, headWords), 0, tagHead); err != nil {
					return err
				}
				for range 3 {
					if _, err := runtime.Recv(c, make([]byte, blockBytes), 0, tagImage); err != nil {
						return err
					}
				}
				return end(c)
			}), gone)
			require.Error(t, delivered)
			require.Less(t, s.Volume().Sent, int64(len(image)))
		})
	}
}

// TestKeptCopyThatIsCorrupt checks a packed copy whose bytes have changed in the memory of its keeper. Restore must fail
// at all ranks, and not wait for the copy.
func TestKeptCopyThatIsCorrupt(t *testing.T) {
	stores := make([]*Store, 2)
	for rank := range stores {
		var err error
		stores[rank], err = New(Config{})
		require.NoError(t, err)
	}
	packed := append(packedHead(3, 2, 1, 5*blockBytes), make([]byte, 100)...)
	stores[0].kept[0] = copied{rank: 1, step: 3, image: packed, committed: true}
	stores[0].own[0] = copied{rank: 0, step: 3, image: writeImage(nil, 3, 2, 0, nil), committed: true}
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		_, _, err := stores[w.Rank()].Restore(w.Comm())
		require.ErrorIs(t, err, ErrCorrupt)
		return nil
	}))
}

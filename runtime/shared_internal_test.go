package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Also if there is no other member, Signal stores without a memory barrier only if this process executes one before one
// of its own goroutines sleeps.
func TestSignalOfASingleMemberHasABarrier(t *testing.T) {
	everywhere(t, 1, func(w *World) error {
		s, err := NewShared(w.Comm(), 8)
		if err != nil {
			return err
		}
		require.Equal(t, w.shm.Barred(0), s.barred)
		return s.Close()
	})
}

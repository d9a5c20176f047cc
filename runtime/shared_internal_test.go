package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Even in a Shared with a single member, Signal omits the memory barrier only if this process executes a memory
// barrier before one of its goroutines sleeps.
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

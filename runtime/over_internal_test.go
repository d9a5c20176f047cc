package runtime

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// After a World has ended because a rank is lost, the living ranks may still use the Buffers that they hold, until they
// leave the World. The same holds for the Shareds that they have not closed. This memory is not reused until then,
// although the engine reports all ranks as down.
func TestLivingRanksKeepTheirMemoryAfterTheEnd(t *testing.T) {
	holds, checked := make(chan struct{}), make(chan struct{})
	require.NoError(t, LocalRespawn(t.Context(), 3, 1, func(w *World) error {
		return w.Resume(func(w *World) error {
			if w.Generation() > 0 {
				return nil
			}
			c := w.Comm()
			s, err := NewShared(c, 8)
			if err != nil {
				return err
			}
			switch w.Rank() {
			case 0:
				defer close(checked)
				b, err := Alloc[byte](w, 1<<20)
				require.NoError(t, err)
				require.NoError(t, SendBuffer[byte](c, b, 1, 3))
				require.NoError(t, s.Close())
				_, lost := Recv(c, make([]byte, 1), 2, 5)
				for w.memory.lossOf(1) == nil || w.memory.lossOf(2) == nil {
					goruntime.Gosched()
				}
				require.Equal(t, 2, leases(w))
				return lost
			case 1:
				m, err := RecvMessage(c, 0, 3)
				require.NoError(t, err)
				close(holds)
				_, lost := Recv(c, make([]byte, 1), 2, 5)
				<-checked
				require.Len(t, m.Bytes(), 1<<20)
				return lost
			}
			<-holds
			panic("lost")
		})
	}))
}

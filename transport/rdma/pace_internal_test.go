package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPaceLooksLessOftenWhileNothingComes counts the looks of an idle transport, and
// that the first thing found makes it look at every poll again.
func TestPaceLooksLessOftenWhileNothingComes(t *testing.T) {
	p := pace{companion: true}
	looks := 0
	poll := func(found int) {
		if p.due(0) {
			looks++
			p.note(found)
		}
	}
	for range 10 * skipMax {
		poll(0)
	}
	require.Less(t, looks, 10+2*5, "idle")
	for p.wait > 0 {
		poll(0)
	}
	looks = 0
	for range 100 {
		poll(1)
	}
	require.Equal(t, 100, looks, "busy")
	require.True(t, p.due(0))

	alone := pace{}
	for range 100 {
		require.True(t, alone.due(0))
		alone.note(0)
	}
}

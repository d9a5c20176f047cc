package virtual

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAgenda checks that events come in the order of their times, even if further events are added
// meanwhile. Events of the same time come in the order in which they were added.
func TestAgenda(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var a agenda
		var now Time
		var last uint64
		waiting := 0
		for range 2000 {
			if waiting > 0 && random.IntN(5) < 2 {
				first := a.first()
				e := a.next()
				waiting--
				require.Equal(t, first, e.at)
				require.False(t, e.at < now || e.at == now && e.turn < last, "seed %d", seed)
				now, last = e.at, e.turn
				continue
			}
			a.add(event{at: now + Time(random.IntN(8))})
			waiting++
		}
		for ; waiting > 0; waiting-- {
			e := a.next()
			require.False(t, e.at < now || e.at == now && e.turn < last, "seed %d", seed)
			now, last = e.at, e.turn
		}
		require.True(t, a.empty())
	}
}

package progress_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// TestBurst checks the number of polls before a yield. A goroutine that may spin polls equally
// often for every peer that is not behind a slow network. Any other goroutine polls most often for
// a peer that runs. It polls once for a peer behind a network or without a processor, except in an
// occasional trial.
func TestBurst(t *testing.T) {
	var spins, yields progress.Burst
	spins.Start(progress.Policy{Spin: time.Microsecond})
	yields.Start(progress.Policy{Yield: time.Microsecond})
	require.True(t, spins.Spins())
	require.False(t, yields.Spins())
	for _, p := range []progress.Peer{progress.Unknown, progress.There, progress.Away, progress.Word, progress.Remote} {
		if p != progress.Remote {
			require.Equal(t, spins.First(progress.Unknown), spins.First(p))
		}
		require.Equal(t, spins.First(p), spins.Next(p))
		if p != progress.Away {
			require.Equal(t, yields.First(p), yields.Next(p))
		}
	}
	require.Equal(t, 1, yields.First(progress.Word))
	require.Equal(t, 1, yields.First(progress.Remote))
	require.Equal(t, 2, spins.First(progress.Remote))
	require.Equal(t, spins.First(progress.Unknown), spins.First(progress.Word))
	require.LessOrEqual(t, spins.First(progress.Unknown), progress.BurstMost)
	there, unknown := yields.Next(progress.There), yields.Next(progress.Unknown)
	require.Greater(t, there, unknown)
	require.Greater(t, unknown, 1)
	require.Less(t, there, spins.Next(progress.There))

	trials := 0
	for range 320 {
		require.Equal(t, 1, yields.Next(progress.Away))
		if n := yields.First(progress.Away); n != 1 {
			require.Greater(t, n, there)
			trials++
		}
	}
	require.Equal(t, 10, trials)
}

package progress_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// TestShare checks when a rank stops spinning because other processes use its processor, and when it begins again.
func TestShare(t *testing.T) {
	const (
		short = 250 * time.Nanosecond
		long  = 2 * time.Microsecond
		slice = time.Millisecond
	)
	alone := progress.Policy{Spin: 50 * time.Microsecond, Yield: 100 * time.Microsecond}
	var s progress.Share
	s.Start(alone)
	require.True(t, s.Watches())
	for range 1000 {
		require.False(t, s.Yielded(short))
	}
	require.Equal(t, alone, s.Policy(progress.Unknown))
	require.Equal(t, progress.Policy{Yield: 3 * (alone.Spin + alone.Yield)}, s.Policy(progress.Remote))
	for range 20 { // now and then a yield takes long because of an interrupt
		require.False(t, s.Yielded(long))
		require.False(t, s.Extends(long))
		for range 20 {
			require.False(t, s.Yielded(short))
		}
	}
	yields := 0
	for !s.Yielded(long) {
		require.Equal(t, alone, s.Policy(progress.Unknown))
		yields++
		require.Less(t, yields, 10)
	}
	require.Equal(t, progress.Policy{Yield: alone.Yield}, s.Policy(progress.Unknown))
	require.True(t, s.Extends(long))
	require.False(t, s.Extends(short))
	require.False(t, s.Extends(slice))
	for range 100 { // the other process sleeps now and then
		for range 10 {
			require.False(t, s.Yielded(short))
		}
		require.False(t, s.Yielded(long))
	}
	yields = 0
	for !s.Yielded(short) {
		yields++
		require.Less(t, yields, 100)
	}
	require.Greater(t, yields, 20)
	require.Equal(t, alone, s.Policy(progress.Unknown))
	for !s.Yielded(long) {
	}
	require.True(t, s.Yielded(slice), "the other process computes")
	require.Equal(t, alone, s.Policy(progress.Unknown))
	require.False(t, s.Yielded(long))
}

// TestShareBesideAComputation checks that a rank that waits for a peer behind a slow network yields from the beginning.
// For some time after a yield to a process that computes, the rank spins instead.
func TestShareBesideAComputation(t *testing.T) {
	const short, slice = 250 * time.Nanosecond, time.Millisecond
	alone := progress.Policy{Spin: 50 * time.Microsecond, Yield: 100 * time.Microsecond}
	yields := progress.Policy{Yield: 450 * time.Microsecond}
	var s progress.Share
	s.Start(alone)
	require.Equal(t, yields, s.Policy(progress.Remote))
	for range 2 {
		require.True(t, s.Yielded(slice))
		require.False(t, s.Yielded(slice))
		for range 63 {
			require.False(t, s.Yielded(short))
			require.Equal(t, alone, s.Policy(progress.Remote))
		}
		require.True(t, s.Yielded(short))
		require.Equal(t, yields, s.Policy(progress.Remote))
	}
}

// TestShareOfCrowdedRanks checks that a policy without spinning stays.
func TestShareOfCrowdedRanks(t *testing.T) {
	crowded := progress.Policy{Yield: time.Millisecond}
	var s progress.Share
	s.Start(crowded)
	require.False(t, s.Watches())
	require.Equal(t, crowded, s.Policy(progress.Unknown))
	require.Equal(t, crowded, s.Policy(progress.Remote))
}

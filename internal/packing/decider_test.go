package packing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/packing"
)

const (
	slowWay, fastWay = 100 << 20, 2 << 30 // bytes per second
	piece            = 64 << 10
)

var limits = packing.Limits{Min: 1024, First: 256 << 10, Most: 64 << 20, Packed: 4 << 20}

// way returns a function that counts its calls in looks and returns p.
func way(p packing.Pace, looks *int) func() packing.Pace {
	return func() packing.Pace { *looks++; return p }
}

// wanting returns a decider that has measured a slow way and wants to try to compress a piece.
func wanting(t *testing.T, l packing.Limits) (d packing.Decider, slow func() packing.Pace, looks *int) {
	t.Helper()
	d, looks = packing.New(packing.Auto, l), new(int)
	slow = way(packing.Pace{Rate: slowWay, Bound: true}, looks)
	d.Block()
	for !d.Wants(piece, slow) {
		require.Zero(t, *looks)
	}
	require.Equal(t, 1, *looks)
	return d, slow, looks
}

func TestLooksOnlyWhereTheWayIsFull(t *testing.T) {
	d, looks := packing.New(packing.Auto, limits), 0
	for range 10_000 {
		require.False(t, d.Wants(piece, way(packing.Pace{Rate: slowWay, Bound: true}, &looks)))
	}
	require.Zero(t, looks)
	d, _, _ = wanting(t, limits)
	require.False(t, d.Wants(limits.Min-1, nil), "a short one")
}

func TestIsOnWhileItPays(t *testing.T) {
	d, slow, _ := wanting(t, limits)
	require.True(t, d.Judge(piece, piece/4, 100*time.Microsecond), "saves 470 us")
	for range 10 {
		require.True(t, d.Wants(piece, slow))
		require.True(t, d.Judge(piece, piece/4, 100*time.Microsecond))
	}
	for range 4 {
		require.True(t, d.On())
		require.True(t, d.Wants(piece, slow))
		require.False(t, d.Judge(piece, piece, 10*time.Microsecond), "it gets no shorter")
	}
	require.False(t, d.On())
	require.False(t, d.Wants(piece, slow))
}

// TestStaysOnThroughAPieceInVain checks that compression stays on although single pieces take
// long or do not get shorter.
func TestStaysOnThroughAPieceInVain(t *testing.T) {
	d, slow, _ := wanting(t, limits)
	for range 20 {
		require.True(t, d.Judge(piece, piece/4, 100*time.Microsecond))
		require.True(t, d.Wants(piece, slow))
		require.True(t, d.Judge(piece, piece/2, time.Second), "it was interrupted, and is shorter all the same")
		require.False(t, d.Judge(piece, piece-piece/16, 0))
		require.True(t, d.On())
	}
}

func TestLeavesFastWaysAlone(t *testing.T) {
	for name, p := range map[string]packing.Pace{
		"fast": {Rate: fastWay, Bound: true}, "a peer that does not read": {Rate: slowWay}, "unknown": {},
	} {
		t.Run(name, func(t *testing.T) {
			d, looks, payload := packing.New(packing.Auto, limits), 0, 0
			for looks < 20 {
				d.Block()
				require.False(t, d.Wants(piece, way(p, &looks)))
				payload += piece
			}
			require.Greater(t, payload, 8*limits.Most, "the looks become rare")
		})
	}
	d, _, _ := wanting(t, limits)
	require.False(t, d.Judge(piece, piece/2, time.Millisecond), "the way is faster than this processor")
	require.False(t, d.On())
}

func TestGoesOffWhereTheWayGetsFast(t *testing.T) {
	d, _, looks := wanting(t, limits)
	require.True(t, d.Judge(piece, piece/4, time.Microsecond))
	for d.Wants(piece, way(packing.Pace{Rate: fastWay, Bound: true}, looks)) {
		require.True(t, d.Judge(piece, piece/4, time.Microsecond))
	}
	require.False(t, d.On())
	require.Equal(t, 2, *looks)
}

// TestShortEnough checks that a piece that gets short enough is compressed at every rate of the way. On a
// fast way, the Decider must turn off after some pieces that do not get short enough.
func TestShortEnough(t *testing.T) {
	enough := limits
	enough.Enough = 4
	for name, p := range map[string]packing.Pace{"fast": {Rate: fastWay, Bound: true}, "unknown": {}} {
		t.Run(name, func(t *testing.T) {
			d, looks := packing.New(packing.Auto, enough), 0
			d.Block()
			for !d.Wants(piece, way(p, &looks)) {
				require.Zero(t, looks)
			}
			require.True(t, d.Judge(piece, piece/4, time.Hour))
			require.True(t, d.On())
			require.True(t, d.Judge(piece, piece/2, 0), "it goes on for some pieces")
			for range 3 {
				d.Judge(piece, piece/2, 0)
			}
			require.False(t, d.On())
		})
	}
	d, _, _ := wanting(t, limits)
	require.False(t, d.Judge(piece, piece/100, time.Hour), "without that limit the time counts")
}

func TestIsTold(t *testing.T) {
	never, always := packing.New(packing.Never, limits), packing.New(packing.Always, limits)
	never.Block()
	require.False(t, never.Wants(limits.First, nil))
	require.False(t, never.Judge(piece, 1, 0))
	require.True(t, always.Wants(limits.Min, nil))
	require.False(t, always.Wants(limits.Min-1, nil))
	require.True(t, always.Judge(piece, piece/2, time.Hour))
	require.False(t, always.Judge(piece, piece-1, 0))
}

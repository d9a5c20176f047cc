package arena_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
)

func newLease(t *testing.T, a *arena.Arena, n int) arena.Lease {
	t.Helper()
	l, err := a.Alloc(n)
	require.NoError(t, err)
	return l
}

// give gives a lease to a rank and confirms the transfer.
func give(t *testing.T, a *arena.Arena, l arena.Lease, rank int) arena.Lease {
	t.Helper()
	given, err := a.Give(l, rank)
	require.NoError(t, err)
	require.NoError(t, a.Confirm(given, false))
	return given
}

func TestGivenMemoryComesBackByReturn(t *testing.T) {
	for _, n := range []int{8, 1 << 20} {
		a := arena.New(whole(8<<20), arena.Config{Rank: 3})
		l := newLease(t, a, n)
		given := give(t, a, l, 5)
		require.Equal(t, arena.Stats{Given: 1, Bytes: n, Grown: a.Stats().Grown}, a.Stats())

		_, err := a.Give(l, 6)
		require.ErrorIs(t, err, arena.ErrStale, "it is not ours any more")
		require.ErrorIs(t, a.Confirm(given, false), arena.ErrStale, "confirmed twice")
		require.ErrorIs(t, a.Free(l), arena.ErrStale)
		require.ErrorIs(t, a.Return(uint64(l.Off), 6), arena.ErrNotHeld)
		require.ErrorIs(t, a.Return(uint64(l.Off), 3), arena.ErrNotHeld)
		require.NoError(t, a.Return(uint64(l.Off), 5))
		require.ErrorIs(t, a.Return(uint64(l.Off), 5), arena.ErrNoLease, "a second release")
		require.Zero(t, a.Stats().Leases())
	}
}

func TestFreeTwice(t *testing.T) {
	a := arena.New(whole(8<<20), arena.Config{})
	for _, n := range []int{8, 1 << 20} {
		l := newLease(t, a, n)
		require.NoError(t, a.Free(l))
		require.ErrorIs(t, a.Free(l), arena.ErrStale)
		again := newLease(t, a, n)
		require.Equal(t, l.Off, again.Off)
		require.ErrorIs(t, a.Free(l), arena.ErrStale, "the same place, another lease")
		require.NoError(t, a.Free(again))
	}
}

func TestGiveToOneself(t *testing.T) {
	a := arena.New(whole(1<<20), arena.Config{Rank: 2})
	l := newLease(t, a, 100)
	given := give(t, a, l, 2)
	require.ErrorIs(t, a.Free(l), arena.ErrStale)
	require.ErrorIs(t, a.Free(given), arena.ErrStale)
	require.NoError(t, a.Return(uint64(l.Off), 2))
	require.Zero(t, a.Stats().Leases())
}

func TestMemoryInFlightIsNotReused(t *testing.T) {
	a := arena.New(whole(4<<20), arena.Config{})
	for _, end := range []func(given arena.Lease){
		func(given arena.Lease) { require.NoError(t, a.Return(uint64(given.Off), 1)) },
		func(arena.Lease) { a.TakeBack(1) },
		func(arena.Lease) {},
	} {
		l := newLease(t, a, 100)
		given, err := a.Give(l, 1)
		require.NoError(t, err)
		require.ErrorIs(t, a.Free(l), arena.ErrStale)
		require.ErrorIs(t, a.Free(given), arena.ErrStale)
		end(given)
		require.Equal(t, 1, a.Stats().Given)

		back, err := a.Regain(given)
		require.NoError(t, err)
		require.Equal(t, l.Off, back.Off)
		require.Len(t, back.Bytes, 100)
		_, err = a.Regain(given)
		require.ErrorIs(t, err, arena.ErrStale)
		require.ErrorIs(t, a.Confirm(given, false), arena.ErrStale)
		require.ErrorIs(t, a.Return(uint64(l.Off), 1), arena.ErrNotHeld)

		given, err = a.Give(back, 1)
		require.NoError(t, err)
		end(given)
		require.NoError(t, a.Confirm(given, false))
		_, err = a.Regain(given)
		require.ErrorIs(t, err, arena.ErrStale)
		a.TakeBack(1)
		require.Zero(t, a.Stats().Leases())
	}
}

// TestReturnNamesTheBeginning checks that Return accepts only the offset at which a long lease
// begins.
func TestReturnNamesTheBeginning(t *testing.T) {
	a := arena.New(whole(4<<20), arena.Config{})
	l := newLease(t, a, arena.LargeMin)
	give(t, a, l, 1)
	require.ErrorIs(t, a.Return(uint64(l.Off)+64, 1), arena.ErrNoLease)
	require.NoError(t, a.Return(uint64(l.Off), 1))
}

func TestTakeBackWhenAHolderIsDown(t *testing.T) {
	a := arena.New(whole(16<<20), arena.Config{})
	var kept []arena.Lease
	want := 0
	for i, n := range []int{8, 8, 8, 3000, 1 << 20, 1 << 20, 1 << 20, 2 << 20} {
		l := newLease(t, a, n)
		switch i % 3 {
		case 0:
			give(t, a, l, 1)
			want += n
		case 1:
			kept = append(kept, l)
		default:
			give(t, a, l, 2)
		}
	}
	leases, bytes := a.TakeBack(1)
	require.Equal(t, 3, leases)
	require.Equal(t, want, bytes)
	require.Equal(t, len(kept)+2, a.Stats().Leases())
	for _, l := range kept {
		require.NoError(t, a.Free(l))
	}
	leases, _ = a.TakeBack(1)
	require.Zero(t, leases)
	for _, none := range []int{0, -1, math.MinInt, math.MaxInt} {
		leases, _ = a.TakeBack(none)
		require.Zero(t, leases, "rank %d", none)
	}
	leases, _ = a.TakeBack(2)
	require.Equal(t, 2, leases)
	require.Zero(t, a.Stats().Leases())
}

func TestHostileReturnsChangeNothing(t *testing.T) {
	a := arena.New(whole(1<<20), arena.Config{})
	var ls []arena.Lease
	for _, n := range []int{8, 100, 3000, 70000, 130000} {
		l := newLease(t, a, n)
		ls = append(ls, l)
	}
	give(t, a, ls[4], 2)
	freed := newLease(t, a, 80000)
	require.NoError(t, a.Free(freed))
	before := a.Stats()
	ranks := []int{-1, 0 - math.MaxInt, 1, 1 << 32, math.MaxInt}
	step := uint64(1)
	if testing.Short() {
		step = 7
	}
	for off := uint64(0); off < 400_000; off += step { // the leases end below 400,000
		require.Error(t, a.Return(off, ranks[off%5]))
	}
	for _, off := range []uint64{1 << 40, 1 << 63, math.MaxUint64} {
		require.ErrorIs(t, a.Return(off, 2), arena.ErrNoLease)
	}
	require.Equal(t, before, a.Stats())
}

package arena_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
)

func TestAllocAlignsAndSizes(t *testing.T) {
	a := arena.New(whole(16<<20), arena.Config{})
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 4096, 40000, arena.LargeMin - 1, arena.LargeMin, 1 << 20} {
		l, err := a.Alloc(n)
		require.NoError(t, err)
		require.Len(t, l.Bytes, n)
		require.Equal(t, n, cap(l.Bytes), "an append must not run into the neighbour")
		aligned(t, l.Bytes, l.Off, 64)
		if n >= arena.LargeMin {
			aligned(t, l.Bytes, l.Off, os.Getpagesize())
		}
	}
	for _, n := range []int{0, 1, 5000} {
		l, err := a.AllocZeros(n)
		require.NoError(t, err)
		require.Len(t, l.Bytes, n)
		aligned(t, l.Bytes, l.Off, os.Getpagesize())
	}
	_, err := a.Alloc(-1)
	require.Error(t, err)
	_, err = a.AllocZeros(-1)
	require.Error(t, err)
}

func TestAllocReusesHotMemory(t *testing.T) {
	mem := whole(256 << 20)
	a := arena.New(mem, arena.Config{Contiguous: true})
	first, err := a.Alloc(64 << 20)
	require.NoError(t, err)
	for range 10 {
		l, err := a.Alloc(1 << 20)
		require.NoError(t, err)
		require.NoError(t, a.Free(l))
	}
	require.NoError(t, a.Free(first))
	again, err := a.Alloc(64 << 20)
	require.NoError(t, err)
	require.Equal(t, first.Off, again.Off)
	require.Empty(t, mem.discarded)
	require.NoError(t, a.Free(again))

	wider, err := a.Alloc(65 << 20)
	require.NoError(t, err)
	require.LessOrEqual(t, a.Stats().Grown, 136<<20)
	require.NoError(t, a.Free(wider))
}

func TestKeepLimitsHotMemory(t *testing.T) {
	mem := whole(64 << 20)
	a := arena.New(mem, arena.Config{Keep: 4 << 20, Contiguous: true})
	var ls []arena.Lease
	for range 16 {
		l, err := a.Alloc(1 << 20)
		require.NoError(t, err)
		l.Bytes[0] = 1
		ls = append(ls, l)
	}
	// Free every second lease, so that no two free ranges can be joined.
	for i := 0; i < len(ls); i += 2 {
		require.NoError(t, a.Free(ls[i]))
		require.LessOrEqual(t, a.Stats().Hot, 4<<20)
	}
	require.Len(t, mem.discarded, 4, "8 were freed, 4 stay")
	for i, d := range mem.discarded {
		require.Equal(t, [2]int{ls[2*i].Off, 1 << 20}, d, "the oldest goes first")
	}
	hot, err := a.Alloc(1 << 20)
	require.NoError(t, err)
	require.Equal(t, ls[14].Off, hot.Off, "the newest comes first")
}

func TestAllocZeros(t *testing.T) {
	for _, keep := range []int{-1, 4 << 20, 64 << 20} {
		a := arena.New(whole(16<<20), arena.Config{Keep: keep, Contiguous: true})
		for _, n := range []int{1, 5000, 100 << 10, 1 << 20, 7 << 20, 12 << 20, 16 << 20} {
			l, err := a.AllocZeros(n)
			require.NoError(t, err)
			require.Equal(t, bytes.Count(l.Bytes, []byte{0}), n, "%d bytes, keeping %d", n, keep)
			for i := range l.Bytes {
				l.Bytes[i] = 0xff
			}
			require.NoError(t, a.Free(l))
		}
	}
}

func TestMachineKeepsWhatItDoesNotTakeBack(t *testing.T) {
	mem := whole(1 << 20)
	a := arena.New(mem, arena.Config{Keep: -1})
	l, err := a.Alloc(128 << 10)
	require.NoError(t, err)
	l.Bytes[5] = 1
	mem.refuse = errors.New("not now")
	require.NoError(t, a.Free(l))
	require.Equal(t, 128<<10, a.Stats().Hot)
	mem.refuse = nil
	l, err = a.AllocZeros(128 << 10)
	require.NoError(t, err)
	require.Zero(t, l.Bytes[5])
}

func TestNegativeKeepKeepsNothing(t *testing.T) {
	mem := whole(1 << 20)
	a := arena.New(mem, arena.Config{Keep: -1})
	l, err := a.Alloc(128 << 10)
	require.NoError(t, err)
	require.NoError(t, a.Free(l))
	require.Len(t, mem.discarded, 1)
	require.Zero(t, a.Stats().Hot)
}

func TestFullArenaRecovers(t *testing.T) {
	for name, mem := range map[string]*memory{"whole": whole(8 << 20), "pieces": pieces(8 << 20)} {
		t.Run(name, func(t *testing.T) {
			a := arena.New(mem, arena.Config{Contiguous: name == "whole"})
			_, err := a.Alloc(8<<20 + 1)
			require.ErrorIs(t, err, arena.ErrFull)
			var ls []arena.Lease
			for {
				l, err := a.Alloc(100 << 10)
				if err != nil {
					require.ErrorIs(t, err, arena.ErrFull)
					break
				}
				ls = append(ls, l)
			}
			require.Greater(t, len(ls), 7<<20/(100<<10), "little may be lost at the ends of chunks")
			for _, i := range []int{1, 3, 2, 0} {
				require.NoError(t, a.Free(ls[i]))
			}
			_, err = a.Alloc(200 << 10)
			require.NoError(t, err, "two freed neighbours are one span")
		})
	}
}

// TestGatheredSpanTakesNoMore checks an allocation that uses hot pages and cold pages beside them. The other pages stay
// free, whichever of the two comes first.
func TestGatheredSpanTakesNoMore(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want int }{
		"cold pages first": {3 << 20, 1 << 20, 2 << 20}, // offset of the allocation
		"hot pages first":  {1 << 20, 3 << 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := arena.New(whole(4<<20), arena.Config{Keep: 1 << 20, Contiguous: true})
			leases := map[int]arena.Lease{}
			for _, n := range []int{c.first, c.second} {
				var err error
				leases[n], err = a.Alloc(n)
				require.NoError(t, err)
			}
			require.NoError(t, a.Free(leases[3<<20])) // more than Keep: its pages are cold now
			require.NoError(t, a.Free(leases[1<<20]))
			require.Equal(t, 1<<20, a.Stats().Hot)
			l, err := a.Alloc(2 << 20)
			require.NoError(t, err)
			require.Equal(t, c.want, l.Off)
			require.Zero(t, a.Stats().Hot)
			other, err := a.Alloc(2 << 20)
			require.NoError(t, err)
			require.Equal(t, 2<<20-c.want, other.Off)
			require.NoError(t, a.Free(l))
			require.NoError(t, a.Free(other))
			_, err = a.Alloc(4 << 20)
			require.NoError(t, err)
		})
	}
}

func TestWholeRangeComesBack(t *testing.T) {
	a := arena.New(whole(8<<20), arena.Config{Keep: 1 << 20, Contiguous: true})
	var ls []arena.Lease
	for i := range 400 {
		l, err := a.Alloc(i * 40)
		require.NoError(t, err)
		ls = append(ls, l)
	}
	for _, l := range ls {
		require.NoError(t, a.Free(l))
	}
	require.Zero(t, a.Stats().Leases())
	_, err := a.Alloc(8 << 20)
	require.NoError(t, err, "empty slabs are dissolved in need")
}

func TestMachineRefuses(t *testing.T) {
	mem := whole(1 << 20)
	a := arena.New(mem, arena.Config{})
	mem.refuse = errors.New("no memory")
	_, err := a.Alloc(1)
	require.ErrorIs(t, err, mem.refuse)
	mem.refuse = nil
	_, err = a.Alloc(1)
	require.NoError(t, err)
}

func TestRecentSizesCostNoAllocation(t *testing.T) {
	a := arena.New(whole(64<<20), arena.Config{})
	for _, n := range []int{8, 4096, 60000, arena.LargeMin, 4 << 20} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			l, err := a.Alloc(n)
			if err != nil || a.Free(l) != nil {
				t.Fatal(err)
			}
		}), "%d bytes", n)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			l, _ := a.Alloc(n)
			given, err := a.Give(l, 1)
			if err != nil || a.Confirm(given, false) != nil || a.Return(uint64(l.Off), 1) != nil {
				t.Fatal(err)
			}
		}), "%d bytes given away", n)
	}
}

func BenchmarkAllocFree(b *testing.B) {
	a := arena.New(whole(64<<20), arena.Config{})
	for b.Loop() {
		l, _ := a.Alloc(1 << 20)
		_ = a.Free(l)
	}
}

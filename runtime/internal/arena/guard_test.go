package arena_test

import (
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
)

// faults reports whether reading b faults.
func faults(b []byte) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { yes = recover() != nil }()
	sink = b[0]
	return false
}

var sink byte

// guarded returns memory whose pages can be closed.
func guarded(t *testing.T) *memory {
	t.Helper()
	const size = 4 << 20
	mapped, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(mapped)) })
	return &memory{size: size, whole: mapped}
}

func TestGuardedArenaFaultsOnUseAfterTheEnd(t *testing.T) {
	mem := guarded(t)
	a := arena.New(mem, arena.Config{Guarded: true})
	for _, n := range []int{8, 100000} {
		freed, neighbour := newLease(t, a, n), newLease(t, a, n)
		require.False(t, faults(freed.Bytes))
		require.NoError(t, a.Free(freed))
		require.True(t, faults(freed.Bytes))
		require.False(t, faults(neighbour.Bytes))

		given, err := a.Give(neighbour, 1)
		require.NoError(t, err)
		require.False(t, faults(neighbour.Bytes), "the engine may have to copy it")
		require.NoError(t, a.Confirm(given, false))
		require.True(t, faults(neighbour.Bytes))
		require.NoError(t, a.Return(uint64(given.Off), 1))

		read, err := a.Give(newLease(t, a, n), 1)
		require.NoError(t, err)
		require.NoError(t, a.Confirm(read, true))
		require.False(t, faults(read.Bytes), "the engine still reads it")
		require.NoError(t, a.Return(uint64(read.Off), 1))
		require.True(t, faults(read.Bytes))

		own := give(t, a, newLease(t, a, n), 0)
		require.False(t, faults(own.Bytes), "this rank is the receiver too")
		require.NoError(t, a.Return(uint64(own.Off), 0))
		require.True(t, faults(own.Bytes))

		again := newLease(t, a, n) // contains some of the freed pages, which are accessible again
		require.False(t, faults(again.Bytes))
		require.NoError(t, a.Free(again))
	}
	// At the end, make all memory accessible again, because code after the test may access it.
	require.NoError(t, arena.Guard(mem.whole, false))
}

// TestGuardedArenaReturnsMemory frees more memory than the arena keeps. The arena then discards closed pages.
func TestGuardedArenaReturnsMemory(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	mem := guarded(t)
	a := arena.New(mem, arena.Config{Guarded: true, Keep: -1})
	l := newLease(t, a, 100000)
	l.Bytes[0] = 1
	require.NotPanics(t, func() { require.NoError(t, a.Free(l)) })
	require.Len(t, mem.discarded, 1)
	require.True(t, faults(l.Bytes))
	again := newLease(t, a, 100000)
	require.Equal(t, l.Off, again.Off)
	require.Zero(t, again.Bytes[0], "discarded")
	require.NoError(t, arena.Guard(mem.whole, false))
}

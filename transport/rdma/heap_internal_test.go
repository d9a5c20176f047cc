package rdma

import (
	"math/rand/v2"
	goruntime "runtime"
	"runtime/debug"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// withoutCollections disables the automatic garbage collector, so that it runs only when the test calls it. A
// collection ends registrations that are not used.
func withoutCollections(t *testing.T) {
	t.Helper()
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// newHeapStore returns registrations without an arena. The argument most is the maximum number of bytes that
// stay registered.
func newHeapStore(t *testing.T, most int) *registrations {
	t.Helper()
	r := newStore(t, 1, most)
	r.arena = nil
	return r
}

// move takes and gives back memory as an operation does. It reports whether the memory was registered for this
// operation alone.
func move(t *testing.T, r *registrations, data []byte) (alone bool) {
	t.Helper()
	g, err := r.take(data, verbs.AccessLocalWrite)
	require.NoError(t, err)
	require.Same(t, &data[0], &g.region.Bytes()[g.off], "it is the memory that is asked for")
	require.GreaterOrEqual(t, len(g.region.Bytes())-g.off, len(data))
	require.NoError(t, r.give(g))
	return g.lasting == nil
}

// mapped returns memory that mmap has allocated and the garbage collector does not know.
func mapped(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	return b
}

var global [1 << 16]byte

// TestOnHeap checks that onHeap returns true for objects of the heap, and false for a global variable and for mapped
// memory. If this test fails with a new version of Go, the transport keeps no heap memory registered with this version,
// or it keeps other memory registered.
func TestOnHeap(t *testing.T) {
	small, large := make([]byte, 3), make([]byte, 1<<20)
	require.True(t, onHeap(small))
	require.True(t, onHeap(large))
	require.True(t, onHeap(large[5000:5001]))
	require.False(t, onHeap(global[:]))
	b := mapped(t, 1<<16)
	require.False(t, onHeap(b))
	require.NoError(t, unix.Munmap(b))
	goruntime.GC() // so that no object stays pinned
}

// TestHeapStaysRegistered checks that heap memory that an operation uses a second time stays registered. Then each
// part of this memory is registered, too. Memory that an operation has used once does not stay registered.
func TestHeapStaysRegistered(t *testing.T) {
	withoutCollections(t)
	r := newHeapStore(t, 64<<20)
	a, b := make([]byte, 1<<20), make([]byte, 1<<20)
	require.True(t, move(t, r, a))
	require.True(t, move(t, r, b))
	for range 5 {
		require.False(t, move(t, r, a))
		require.False(t, move(t, r, a[4096:8192]))
		require.False(t, move(t, r, a[len(a)-1:]))
	}
	require.Equal(t, 1, r.counts.kept)
	require.Equal(t, 14, r.counts.keptFound)
	require.Len(t, r.kept, 1)
	require.Equal(t, len(a), r.pool.kept)
	require.Equal(t, len(a), r.pool.bytes)
	g, err := r.take(a, 0)
	require.NoError(t, err)
	require.Nil(t, g.lasting, "it has other rights")
	require.NoError(t, r.give(g))
	require.Contains(t, r.explain(), "1 pieces of the heap with 1024 KiB, registered 1 times and found 14 times")
	r.copyBelow = 64 << 10
	require.True(t, move(t, r, b[:1<<10]))
	require.True(t, move(t, r, b[:1<<10]), "short pieces are copied as a rule")
	r.sinksAreWritable = true
	require.True(t, move(t, r, a), "peers could write to it for as long as it is registered")
}

// TestMappingsDoNotStay checks that memory that the program has mapped itself is registered for each operation.
// A registration that stayed would name the wrong pages when the program unmaps the memory and maps other memory
// at the same address.
func TestMappingsDoNotStay(t *testing.T) {
	withoutCollections(t)
	r := newHeapStore(t, 64<<20)
	for range 3 {
		b := mapped(t, 1<<16)
		for range 3 {
			require.True(t, move(t, r, b))
		}
		require.NoError(t, unix.Munmap(b))
		require.True(t, move(t, r, global[:]))
	}
	require.Empty(t, r.kept)
}

// TestExposuresDoNotStay checks that the registration whose key a peer has got ends with the exposure.
func TestExposuresDoNotStay(t *testing.T) {
	r := newHeapStore(t, 64<<20)
	b := make([]byte, 1<<16)
	for range 4 {
		g, err := r.expose(b, verbs.AccessRemoteRead)
		require.NoError(t, err)
		require.Nil(t, g.lasting)
		require.NoError(t, r.give(g))
		require.ErrorIs(t, g.region.Close(), verbs.ErrInvalidHandle, "it has ended")
	}
	require.Empty(t, r.kept)
}

// TestCollectorFreesWhatWasRegistered checks that the garbage collector frees registered memory only after the
// registration has ended. The registration of memory that the program has dropped ends after some collections.
func TestCollectorFreesWhatWasRegistered(t *testing.T) {
	withoutCollections(t)
	r := newHeapStore(t, 64<<20)
	dropped := new([1 << 20]byte)
	gone := weak.Make(dropped)
	move(t, r, dropped[:])
	require.False(t, move(t, r, dropped[:]))
	dropped = nil
	goruntime.GC()
	require.NotNil(t, gone.Value(), "one collection is too few")
	for deadline := time.Now().Add(time.Minute); gone.Value() != nil; goruntime.GC() {
		require.False(t, time.Now().After(deadline), "the memory is never freed")
		goruntime.Gosched()
	}
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	require.Zero(t, r.pool.kept)
	require.Empty(t, r.kept)
}

// TestUnusedRegistrationsEnd checks that a registration ends when it is not used for some collections. A
// registration stays if it is used between two collections, or if an operation holds it.
func TestUnusedRegistrationsEnd(t *testing.T) {
	withoutCollections(t)
	r := newHeapStore(t, 64<<20)
	used, under, unused := make([]byte, 1<<16), make([]byte, 1<<16), make([]byte, 1<<16)
	for _, b := range [][]byte{used, under, unused} {
		move(t, r, b)
		require.False(t, move(t, r, b))
	}
	g, err := r.take(under, verbs.AccessLocalWrite)
	require.NoError(t, err)
	for cycle := range 4 * keptCycles {
		require.Len(t, r.kept, map[bool]int{true: 3, false: 2}[cycle < keptCycles])
		r.pool.collected()
		require.False(t, move(t, r, used))
	}
	require.Equal(t, 2<<16, r.pool.kept)
	require.NoError(t, r.give(g))
	require.False(t, move(t, r, under))
	require.True(t, move(t, r, unused))
}

// TestHeapHasABound checks that pieces of the heap and parts of the arena share the bound of registered memory,
// and that the least recently used piece or part is evicted first.
func TestHeapHasABound(t *testing.T) {
	withoutCollections(t)
	stores := newStores(t, 2, 4, 3*arenaChunk)
	r := stores[0]
	r.arena = nil
	require.Nil(t, func() *lasting { m, _ := r.keep(make([]byte, 3*arenaChunk+1), 0); return m }())
	var pieces [][]byte
	for range 8 {
		b := make([]byte, arenaChunk)
		pieces = append(pieces, b)
		move(t, r, b)
		require.False(t, move(t, r, b))
		require.LessOrEqual(t, r.pool.bytes, 3*arenaChunk)
		require.Equal(t, r.pool.kept, r.pool.bytes)
	}
	require.Equal(t, 5, r.counts.evicted)
	require.False(t, move(t, r, pieces[5]))
	// A part of the other rail's arena evicts the oldest piece.
	part := stores[1].stay(0, 1, r.own)
	require.NotNil(t, part)
	require.Len(t, r.kept, 2)
	require.False(t, move(t, r, pieces[5]), "it was used last")
	require.True(t, move(t, r, pieces[6]))
	require.NoError(t, stores[1].give(registration{lasting: part}))
	stores[1].arena = nil
	for i := range 2 * keptMost {
		b := make([]byte, 64+i)
		move(t, stores[1], b)
		require.False(t, move(t, stores[1], b))
		require.LessOrEqual(t, len(stores[1].kept), keptMost)
	}
	// A registration for one operation evicts pieces that no operation uses.
	domain := &scarce{registrar: r.domain}
	r.domain = domain
	_, err := r.alone(make([]byte, 1), verbs.AccessLocalWrite)
	require.Error(t, err)
	require.Zero(t, r.pool.kept)
	move(t, stores[1], pieces[0])
	m, _ := stores[1].keep(pieces[0], verbs.AccessLocalWrite)
	require.NotNil(t, m)
	_, err = r.alone(make([]byte, 1), verbs.AccessLocalWrite)
	require.Error(t, err)
	require.Equal(t, arenaChunk, r.pool.kept, "an operation uses it")
	require.NoError(t, stores[1].give(registration{lasting: m}))
}

// TestNoPieceGoesInVain checks which pieces are evicted. If a rail has too many pieces, a piece of this rail is
// evicted. If the pieces in use leave too little room in any case, nothing is evicted.
func TestNoPieceGoesInVain(t *testing.T) {
	withoutCollections(t)
	stores := newStores(t, 2, 4, 3*arenaChunk)
	full, other := stores[0], stores[1]
	full.arena, other.arena = nil, nil
	idle := make([]byte, arenaChunk)
	move(t, other, idle)
	require.False(t, move(t, other, idle))
	var used []registration
	for i := range keptMost {
		b := make([]byte, 64+i)
		move(t, full, b)
		g, err := full.take(b, verbs.AccessLocalWrite)
		require.NoError(t, err)
		require.NotNil(t, g.lasting)
		used = append(used, g)
	}
	b := make([]byte, 64)
	move(t, full, b)
	require.True(t, move(t, full, b), "all places of the rail are in use")
	require.Len(t, other.kept, 1)
	require.Zero(t, other.counts.evicted)
	for _, g := range used {
		require.NoError(t, full.give(g))
	}
	move(t, full, b)
	require.False(t, move(t, full, b))
	require.Equal(t, []int{1, 0}, []int{full.counts.evicted, other.counts.evicted})
	// Two chunks are in use. So one more chunk fits into the bound, and a larger piece does not fit.
	large := make([]byte, 2*arenaChunk)
	move(t, full, large)
	g, err := full.take(large, verbs.AccessLocalWrite)
	require.NoError(t, err)
	require.NotNil(t, g.lasting)
	before := full.counts.evicted + other.counts.evicted
	more := make([]byte, arenaChunk+1)
	move(t, other, more)
	require.True(t, move(t, other, more))
	require.Equal(t, before, full.counts.evicted+other.counts.evicted)
	require.NoError(t, full.give(g))
}

// TestNothingStaysAfterClose checks that registrations.close forgets all registrations of its rail, and that a later
// collection deregisters no memory of this rail.
func TestNothingStaysAfterClose(t *testing.T) {
	withoutCollections(t)
	stores := newStores(t, 2, 1, 64<<20)
	var regions []*verbs.MemoryRegion
	for _, r := range stores {
		r.arena = nil
		b := make([]byte, 1<<16)
		move(t, r, b)
		move(t, r, b)
		require.Len(t, r.kept, 1)
		regions = append(regions, r.kept[0].region)
	}
	pool := stores[0].pool
	stores[0].close()
	require.Empty(t, stores[0].kept)
	require.Equal(t, 1<<16, pool.kept)
	b := make([]byte, 1<<16)
	require.True(t, move(t, stores[0], b))
	for range keptCycles {
		pool.collected()
	}
	require.Zero(t, pool.kept)
	require.NoError(t, regions[0].Close(), "the end of the adapter would have been its end")
	require.ErrorIs(t, regions[1].Close(), verbs.ErrInvalidHandle)
	require.False(t, func() bool { pool.collected(); return pool.watching }(), "nothing is left to be watched")
}

// TestHeapIsNeverStale allocates, drops and uses memory at random while the garbage collector runs. The test
// checks that the registration that an operation gets always covers the memory that the operation names.
func TestHeapIsNeverStale(t *testing.T) {
	r := newHeapStore(t, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	live := make([][]byte, 8)
	found := 0
	for step := range 20000 {
		i := random.IntN(len(live))
		if live[i] == nil || random.IntN(40) == 0 {
			live[i] = make([]byte, 1+random.IntN(1<<14))
		}
		b := live[i]
		from := random.IntN(len(b))
		if random.IntN(2) == 0 {
			from = 0
		}
		if !move(t, r, b[from:]) {
			found++
		}
		if step%400 == 0 {
			goruntime.GC()
		}
	}
	require.Greater(t, found, 1000)
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	require.LessOrEqual(t, r.pool.bytes, r.pool.most)
}

// TestHeapDoesNotAllocate checks that using memory that stays registered allocates nothing.
func TestHeapDoesNotAllocate(t *testing.T) {
	withoutCollections(t)
	r := newHeapStore(t, 64<<20)
	b := make([]byte, 1<<20)
	move(t, r, b)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		g, err := r.take(b, verbs.AccessLocalWrite)
		if err != nil || r.give(g) != nil {
			t.Fatal(err)
		}
	}))
}

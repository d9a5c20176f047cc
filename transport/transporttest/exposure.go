package transporttest

import (
	"bytes"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
)

// memoryRules are the rules of exposed memory and of the arena.
var memoryRules = []rule{
	{"BadKeysTouchNothing", 2, testBadKeys},
	{"ConcealEndsAccess", 2, testConceal},
	{"ExposuresOfTheSameMemoryAreSeparate", 2, testExposeTwice},
	{"AccessIsWhatWasGranted", 2, testAccess},
	{"ArenaBytesStayWhereTheyAre", 2, testArenaBytes},
	{"ArenaDiscardGivesZeros", 2, testArenaDiscard},
	{"ArenaKeysNeedNoExpose", 2, testArenaKeys},
	{"MapNamesTheOwnersMemory", 3, testMap},
	{"MapStaysInTheArena", 2, testMapBounds},
}

func testBadKeys(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get or put", caps.Get || caps.Put)
	const n = 4096
	memory := pattern(1, n)
	k := r.expose(1, memory, transport.AccessRead|transport.AccessWrite)
	bad := []struct {
		name   string
		key    transport.Key
		length int
	}{
		{"one byte too many", k, n + 1},
		{"over the end", k.At(n - 4), 8},
		{"after the end", k.At(n + 1), 1},
		{"before the start", k.At(-8), 8},
		{"much too long", k, 1 << 20},
		{"address wraps", transport.Key{Addr: ^uint64(0) - 3, Token: k.Token}, 8},
		{"unknown token", transport.Key{Addr: k.Addr, Token: k.Token + 1<<20}, 8},
		{"no key at all", transport.Key{}, 1 << 20},
	}
	for _, b := range bad {
		buffer := pattern(2, b.length)
		if caps.Get {
			require.ErrorIs(r, r.get(make([]byte, b.length), b.key), transport.ErrBadKey, "get, %s", b.name)
		}
		if caps.Put && b.key != (transport.Key{}) {
			require.ErrorIs(r, r.put(buffer, b.key), transport.ErrBadKey, "put, %s", b.name)
		}
	}
	require.NoError(r, r.ranks[1].transport.Conceal(k))
	r.requirePattern(memory, 1)
	r.connected(0, 1) // the two ranks still exchange messages
}

// testConceal checks that a key cannot be used after Conceal. It repeats the check after the same memory was
// exposed again, because the transport may reuse resources of the first exposure.
func testConceal(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get or put", caps.Get || caps.Put)
	const n, rights = 1000, transport.AccessRead | transport.AccessWrite | transport.AccessAtomic
	memory := alignedBytes(n)
	writePattern(memory, 1)
	stale := r.expose(1, memory, rights)
	require.NoError(r, r.ranks[1].transport.Conceal(stale))
	r.requireStale(stale, caps)
	again := r.expose(1, memory, rights)
	r.requireStale(stale, caps)
	r.requirePattern(memory, 1)
	if caps.Get {
		require.NoError(r, r.get(make([]byte, n), again))
	}
	require.NoError(r, r.ranks[1].transport.Conceal(again))
}

// requireStale checks that neither rank 0 nor the owner, rank 1, can still use a key of rank 1.
func (r *rig) requireStale(k transport.Key, caps transport.Caps) {
	r.Helper()
	if caps.Get {
		require.ErrorIs(r, r.get(make([]byte, 8), k), transport.ErrBadKey)
	}
	if caps.Put {
		require.ErrorIs(r, r.put(make([]byte, 8), k), transport.ErrBadKey)
	}
	if caps.FetchAdd {
		require.ErrorIs(r, r.fetchAdd(k, 1).err, transport.ErrBadKey)
	}
	require.ErrorIs(r, r.ranks[1].transport.Conceal(k), transport.ErrBadKey)
}

func testExposeTwice(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get", caps.Get)
	memory := pattern(1, 1000)
	first := r.expose(1, memory, transport.AccessRead)
	second := r.expose(1, memory[500:], transport.AccessRead)
	require.NoError(r, r.ranks[1].transport.Conceal(first))
	dst := make([]byte, 500)
	require.NoError(r, r.get(dst, second))
	require.Equal(r, memory[500:], dst)
	require.NoError(r, r.ranks[1].transport.Conceal(second))
}

// testAccess exposes memory with each set of rights and tries every operation on it. A refused
// operation must not change the memory, and a permitted operation must be carried out.
func testAccess(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get, put or fetch-add", caps.Get || caps.Put || caps.FetchAdd)
	for rights := range 2 * transport.AccessAtomic {
		memory := alignedBytes(4 * wordBytes)
		writePattern(memory, uint64(rights))
		want := bytes.Clone(memory)
		k := r.expose(1, memory, rights)
		decided := func(operation string, right transport.Access, err error) bool {
			r.Helper()
			granted := rights&right != 0
			if granted {
				require.NoError(r, err, "%s with rights %03b", operation, rights)
			} else {
				require.ErrorIs(r, err, transport.ErrBadKey, "%s with rights %03b", operation, rights)
			}
			return granted
		}
		if caps.Get {
			got := make([]byte, wordBytes)
			if decided("get", transport.AccessRead, r.get(got, k)) {
				require.Equal(r, want[:wordBytes], got)
			}
		}
		if caps.Put && decided("put", transport.AccessWrite, r.put(pattern(99, wordBytes), k.At(wordBytes))) {
			writePattern(want[wordBytes:2*wordBytes], 99)
		}
		if caps.FetchAdd && decided("fetch-add", transport.AccessAtomic, r.fetchAdd(k.At(2*wordBytes), 1).err) {
			addWord(want[2*wordBytes:3*wordBytes], 1)
		}
		require.Equal(r, want, memory, "rights %03b", rights)
		require.NoError(r, r.ranks[1].transport.Conceal(k))
	}
}

// arena returns the arena of a rank. It skips the test if the transport has no arenas.
func (r *rig) arena(rank int) transport.Arena {
	r.Helper()
	r.needs("arena", len(r.fabric.Arenas) > 0)
	return r.fabric.Arenas[rank]
}

// arenaBytes returns n bytes at off of a rank's arena.
func (r *rig) arenaBytes(rank, off, n int) []byte {
	r.Helper()
	b, err := r.arena(rank).Bytes(off, n)
	require.NoError(r, err)
	require.Len(r, b, n)
	return b
}

func testArenaBytes(r *rig) {
	a := r.arena(0)
	require.GreaterOrEqual(r, a.Size(), 16*pageSize)
	copy(r.arenaBytes(0, 3*pageSize+5, 100), pattern(1, 100))
	r.requirePattern(r.arenaBytes(0, 3*pageSize+5, 100), 1)
	require.NotEqual(r, pattern(1, 100), r.arenaBytes(1, 3*pageSize+5, 100), "each rank has its own range")

	off, ok := a.Offset(r.arenaBytes(0, 3*pageSize+7, 10))
	require.True(r, ok)
	require.Equal(r, 3*pageSize+7, off)
	_, ok = a.Offset(make([]byte, 10))
	require.False(r, ok, "heap memory is not in the arena")

	for _, bad := range [][2]int{{-1, 1}, {0, a.Size() + 1}, {a.Size() - 1, 2}, {a.Size() + 1, 0}, {0, -1}, {math.MaxInt, math.MaxInt}} {
		_, err := a.Bytes(bad[0], bad[1])
		require.Error(r, err, "bytes [%d, +%d) of %d", bad[0], bad[1], a.Size())
	}
}

func testArenaDiscard(r *rig) {
	b := r.arenaBytes(0, 0, 4*pageSize)
	spoil(b)
	require.NoError(r, r.arena(0).Discard(pageSize, 2*pageSize))
	b = r.arenaBytes(0, 0, 4*pageSize)
	for i, x := range b {
		discarded := i >= pageSize && i < 3*pageSize
		require.Equal(r, discarded, x == 0, "byte %d", i)
	}
}

func testArenaKeys(r *rig) {
	_, caps := r.connected(0, 1)
	r.needs("get and put", caps.Get && caps.Put)
	const off, n = 2*pageSize + 24, 3000
	k := r.arena(1).Key(off)
	memory := r.arenaBytes(1, off, n)
	writePattern(memory, 1)
	dst := make([]byte, n)
	require.NoError(r, r.get(dst, k))
	r.requirePattern(dst, 1)
	require.NoError(r, r.put(pattern(2, n-100), k.At(100)))
	r.requirePattern(memory[100:], 2)
}

// testMap passes arena memory of rank 0 to rank 1. Rank 1 gets the key of the memory in a message, which orders
// the accesses. Rank 2 maps the same memory without a message.
func testMap(r *rig) {
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {2, 0}} {
		_, caps := r.connected(pair[0], pair[1])
		r.needs("handover", caps.Handover)
	}
	const off, n = 5 * pageSize, 10000
	own := r.arenaBytes(0, off, n)
	writePattern(own, 1)
	k := r.arena(0).Key(off)
	r.send(0, 1, transport.Header{A: k.Addr, B: k.Token}, nil)
	r.pump("the key", func() bool { return len(r.ranks[1].arrivals) == 1 })
	h := r.ranks[1].arrivals[0].header

	mapped, err := r.endpoint(1, 0).Map(transport.Key{Addr: h.A, Token: h.B}, n)
	require.NoError(r, err)
	require.Len(r, mapped, n)
	r.requirePattern(mapped, 1)

	writePattern(own, 2)
	r.send(0, 1, transport.Header{}, nil)
	r.pump("the second message", func() bool { return len(r.ranks[1].arrivals) == 2 })
	r.requirePattern(mapped, 2) // nothing was copied

	tail, err := r.endpoint(1, 0).Map(k.At(n-10), 10)
	require.NoError(r, err)
	require.Equal(r, pattern(2, n)[n-10:], tail)
	third, err := r.endpoint(2, 0).Map(k, n)
	require.NoError(r, err)
	r.requirePattern(third, 2)
}

func testMapBounds(r *rig) {
	e, caps := r.connected(0, 1)
	r.needs("handover", caps.Handover)
	size := r.arena(1).Size()
	_, err := e.Map(r.arena(1).Key(size-8), 8)
	require.NoError(r, err)
	for _, bad := range []struct {
		key transport.Key
		n   int
	}{
		{r.arena(1).Key(0), size + 1},
		{r.arena(1).Key(size - 8), 9},
		{r.arena(1).Key(0), -1},
		{r.arena(1).Key(0).At(-8), 8},
		{r.arena(1).Key(size).At(1), 0},
	} {
		_, err := e.Map(bad.key, bad.n)
		require.ErrorIs(r, err, transport.ErrBadKey, "map of %d bytes at %#x", bad.n, bad.key.Addr)
	}
	exposed := r.expose(1, make([]byte, 64), transport.AccessRead)
	_, err = e.Map(exposed, 64)
	require.ErrorIs(r, err, transport.ErrNotSupported, "map of memory outside of the arena")
	require.NoError(r, r.ranks[1].transport.Conceal(exposed))
}

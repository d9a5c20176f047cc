package rdma_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// testArena is an arena of one mapping that counts the bytes that were discarded.
type testArena struct {
	memory    []byte
	discarded int
}

func (a *testArena) Size() int { return len(a.memory) }

func (a *testArena) Bytes(off, n int) ([]byte, error) { return a.memory[off : off+n : off+n], nil }

func (a *testArena) Discard(off, n int) error {
	clear(a.memory[off : off+n])
	a.discarded += n
	return nil
}

func (a *testArena) Key(off int) transport.Key { return transport.Key{Addr: uint64(off)} }

func (a *testArena) Offset(b []byte) (int, bool) {
	off := addressOf(b) - addressOf(a.memory)
	if len(b) == 0 || off >= uintptr(len(a.memory)) || uintptr(len(b)) > uintptr(len(a.memory))-off {
		return 0, false
	}
	return int(off), true
}

// arenas returns two connected ranks with an arena each, on adapters that pin memory.
func arenas(t *testing.T, length, pinMost int) ([]*rank, []*testArena) {
	t.Helper()
	places := pinning(memory(verbstest.StyleInfiniBand, 2))
	for _, p := range places {
		p.provider.(*verbstest.Host).PinMost = pinMost
	}
	all := []*testArena{{memory: make([]byte, length)}, {memory: make([]byte, length)}}
	ranks := newWorld(t, places, func(c *rdma.Config) { c.Arena, c.CopyBelow = all[c.Rank], 32<<10 }).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	return ranks, all
}

// In pull, rank 0 gets bytes that rank 1 has exposed. In push, rank 0 puts bytes into memory that rank 1 has
// exposed.
func pull(t *testing.T, ranks []*rank, dst []byte, k transport.Key) error {
	t.Helper()
	return bulk(t, ranks, func(token uint64) error { return ranks[0].to(1).Get(dst, k, token) })
}

func push(t *testing.T, ranks []*rank, src []byte, k transport.Key) error {
	t.Helper()
	return bulk(t, ranks, func(token uint64) error { return ranks[0].to(1).Put(src, k, token) })
}

func bulk(t *testing.T, ranks []*rank, begin func(token uint64) error) error {
	t.Helper()
	token := ranks[0].token()
	require.NoError(t, drive(t, ranks, "begin", func() error { return begin(token) }))
	pump(t, ranks, "the end", func() bool { _, ok := ranks[0].done[token]; return ok })
	return ranks[0].done[token]
}

// TestArenaIsRegisteredOnce exposes, reads and writes arena memory many times. The test checks that each end makes
// only two registrations that stay: one of the first chunk of its arena, and one of the first two chunks, which
// replaces the first one. The second one lasts until memory in it is given back to the operating system. Memory
// that is exposed for writing is registered for each exposure, so that the key of the exposure covers no other
// memory.
func TestArenaIsRegisteredOnce(t *testing.T) {
	const chunk, length = 4 << 20, 100_000
	ranks, all := arenas(t, 3*chunk, 0)
	for i := range 20 {
		at := i % 2 * (chunk - length/2) // in the first chunk, or across its end
		source, target := all[1].memory[at:at+length], all[0].memory[at:at+length]
		copy(source, numbered(uint64(i), length))
		k, err := ranks[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		require.NoError(t, pull(t, ranks, target, k))
		require.Equal(t, source, target)
		require.NoError(t, ranks[1].Conceal(k))
		require.ErrorIs(t, ranks[1].Conceal(k), transport.ErrBadKey)
		k, err = ranks[1].Expose(source, transport.AccessRead|transport.AccessWrite)
		require.NoError(t, err)
		target[7]++
		require.NoError(t, push(t, ranks, target, k))
		require.Equal(t, target, source)
		require.NoError(t, ranks[1].Conceal(k))
	}
	for i, r := range ranks {
		parts, lasting, single := r.Registered()
		require.Equal(t, 1, parts, "the first chunk is a part of the two")
		require.Equal(t, 2, lasting)
		require.Equal(t, 20*i, single)
	}
	// Discard fails for memory in use. For unused memory Discard ends the registration.
	k, err := ranks[1].Expose(all[1].memory[:10], transport.AccessRead)
	require.NoError(t, err)
	require.Error(t, ranks[1].Arena().Discard(chunk, 4096))
	require.Zero(t, all[1].discarded)
	require.NoError(t, ranks[1].Arena().Discard(2*chunk, 4096), "a chunk that is not registered")
	require.NoError(t, ranks[1].Conceal(k))
	require.NoError(t, ranks[1].Arena().Discard(chunk, 4096))
	require.Equal(t, 2*4096, all[1].discarded)
	parts, _, _ := ranks[1].Registered()
	require.Zero(t, parts)
	k, err = ranks[1].Expose(all[1].memory[chunk:chunk+length], transport.AccessRead)
	require.NoError(t, err)
	require.NoError(t, pull(t, ranks, all[0].memory[:length], k))
	require.Equal(t, all[1].memory[chunk:chunk+length], all[0].memory[:length])
	require.Contains(t, ranks[1].ExplainMemory(), "1 parts of the arena with 4096 KiB, registered 3 times")
	closeAll(t, ranks)
	require.NoError(t, ranks[1].Arena().Discard(0, 4096), "after the end the arena is only an arena")
}

// TestKeysGiveNoMore checks that a key lets a peer write only the memory that was exposed for writing with this
// key. Other memory that the rank has exposed, read or written, before or at the same time, must not change.
// The variants use memory in the arena and outside. They use adapters on which peers can write the memory that
// RDMA Reads fill, and adapters on which peers cannot do so.
func TestKeysGiveNoMore(t *testing.T) {
	for _, sinks := range []bool{false, true} {
		for _, inArena := range []bool{true, false} {
			t.Run(fmt.Sprintf("sinks are writable %v, arena %v", sinks, inArena), func(t *testing.T) { testKeysGiveNoMore(t, sinks, inArena) })
		}
	}
}

func testKeysGiveNoMore(t *testing.T, sinks, inArena bool) {
	t.Helper()
	const length = 100_000
	places := pinning(memory(verbstest.StyleInfiniBand, 2))
	for _, p := range places {
		p.provider.(*verbstest.Host).SinksAreWritable = sinks
	}
	arena := &testArena{memory: numbered(7, 4<<20)}
	ranks := newWorld(t, places, func(c *rdma.Config) {
		if c.CopyBelow = 32 << 10; c.Rank == 1 {
			c.Arena = arena
		}
	}).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	whole := arena.memory
	if !inArena {
		whole = numbered(7, 4<<20)
	}
	// This rank fills parts of the memory by a Get from rank 0.
	other := numbered(8, length)
	k, err := ranks[0].Expose(other, transport.AccessRead)
	require.NoError(t, err)
	token := ranks[1].token()
	require.NoError(t, drive(t, ranks, "get", func() error { return ranks[1].to(0).Get(whole[:length], k, token) }))
	pump(t, ranks, "the end", func() bool { _, ok := ranks[1].done[token]; return ok })
	require.NoError(t, ranks[1].done[token])
	require.Equal(t, other, whole[:length])
	// Then this rank exposes parts of the memory, short and long ones, for reading or for writing.
	writable, err := ranks[1].Expose(whole[length:2*length], transport.AccessRead|transport.AccessWrite)
	require.NoError(t, err)
	before := slices.Clone(whole)
	refused := func(k transport.Key, n int) {
		t.Helper()
		require.ErrorIs(t, push(t, ranks, make([]byte, n), k), transport.ErrBadKey)
		require.True(t, bytes.Equal(before, whole), "nothing was written")
	}
	for _, n := range []int{100, length} {
		readable, err := ranks[1].Expose(whole[:n], transport.AccessRead)
		require.NoError(t, err)
		refused(readable, n)
		refused(readable.At(n/2), 8)
		got := make([]byte, n)
		require.NoError(t, pull(t, ranks, got, readable))
		require.Equal(t, whole[:n], got)
		require.NoError(t, ranks[1].Conceal(readable))
	}
	words, err := ranks[1].Expose(whole[:64], transport.AccessAtomic)
	require.NoError(t, err)
	refused(words, 8)
	require.ErrorIs(t, pull(t, ranks, make([]byte, 8), words), transport.ErrBadKey)
	refused(writable.At(length), 8) // beyond the end of the exposed memory
	refused(writable.At(-8), 16)
	require.NoError(t, push(t, ranks, make([]byte, length), writable))
	clear(before[length : 2*length])
	require.True(t, bytes.Equal(before, whole))
	closeAll(t, ranks)
}

// TestArenaKeys checks that several exposures of one chunk have different keys, and that the key of an ended
// exposure is refused.
func TestArenaKeys(t *testing.T) {
	ranks, all := arenas(t, 4<<20, 0)
	words := bytesOfWords(make([]uint64, 1))
	require.Len(t, words, 8)
	first, err := ranks[1].Expose(all[1].memory[:8], transport.AccessRead|transport.AccessAtomic)
	require.NoError(t, err)
	second, err := ranks[1].Expose(all[1].memory[:8], transport.AccessRead|transport.AccessAtomic)
	require.NoError(t, err)
	require.NotEqual(t, first.Token, second.Token)
	add := func(k transport.Key) error {
		return bulk(t, ranks, func(token uint64) error { return ranks[0].to(1).FetchAdd(k, 5, token) })
	}
	require.NoError(t, add(first))
	require.NoError(t, ranks[1].Conceal(first))
	require.ErrorIs(t, add(first), transport.ErrBadKey)
	require.NoError(t, add(second))
	require.Equal(t, byte(10), all[1].memory[0])
	closeAll(t, ranks)
}

// TestHeapIsCopiedBelowALength checks that short Gets, short Puts and short exposures for reading of heap memory
// are copied through registered memory. Longer memory, and memory that is exposed for writing, is registered for
// the operation or the exposure.
func TestHeapIsCopiedBelowALength(t *testing.T) {
	ranks, _ := arenas(t, 4<<20, 0)
	for _, c := range []struct{ length, copied, single int }{{1, 1, 0}, {32<<10 - 1, 1, 0}, {32 << 10, 0, 1}, {1 << 20, 0, 1}} {
		_, _, single := ranks[0].Registered()
		_, copied := ranks[0].Bounces()
		_, copiedThere := ranks[1].Bounces()
		source := numbered(uint64(c.length), c.length)
		k, err := ranks[1].Expose(source, transport.AccessRead)
		require.NoError(t, err)
		target := make([]byte, c.length)
		require.NoError(t, pull(t, ranks, target, k))
		require.Equal(t, source, target)
		require.NoError(t, ranks[1].Conceal(k))
		require.ErrorIs(t, ranks[1].Conceal(k), transport.ErrBadKey)
		_, _, singleNow := ranks[0].Registered()
		_, copiedNow := ranks[0].Bounces()
		_, copiedThereNow := ranks[1].Bounces()
		require.Equal(t, []int{c.single, c.copied, c.copied}, []int{singleNow - single, copiedNow - copied, copiedThereNow - copiedThere}, "%d bytes", c.length)

		k, err = ranks[1].Expose(target, transport.AccessRead|transport.AccessWrite)
		require.NoError(t, err)
		clear(target)
		require.NoError(t, push(t, ranks, source, k))
		require.Equal(t, source, target, "what peers write is not copied")
		require.NoError(t, ranks[1].Conceal(k))
	}
	for _, r := range ranks {
		lent, _ := r.Bounces()
		require.Zero(t, lent)
	}
	closeAll(t, ranks)
}

// TestMemoryThatCannotBeRegistered sets a limit of locked memory that does not allow the memory of a Get and a
// Put to be registered. The test checks that both are copied in parts, and that the log says so once.
func TestMemoryThatCannotBeRegistered(t *testing.T) {
	const length, chunk = 5 << 20, 4 << 20
	places := pinning(memory(verbstest.StyleInfiniBand, 2))
	places[0].provider.(*verbstest.Host).PinMost = 8 << 20
	lines := make(chan string, 10)
	arena := &testArena{memory: make([]byte, chunk)}
	ranks := newWorld(t, places, func(c *rdma.Config) {
		c.CopyBelow = -1
		if c.Rank == 0 {
			c.Log, c.Arena = func(line string) { lines <- line }, arena
		}
	}).ranks(t)
	require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
	source := numbered(1, length)
	k, err := ranks[1].Expose(source, transport.AccessRead|transport.AccessWrite)
	require.NoError(t, err)
	// A part of the arena is evicted unless an operation uses it.
	require.NoError(t, pull(t, ranks, arena.memory[:10], k))
	parts, _, _ := ranks[0].Registered()
	require.Equal(t, 1, parts)
	target := make([]byte, length)
	require.NoError(t, pull(t, ranks, target, k))
	require.Equal(t, source, target)
	_, copied := ranks[0].Bounces()
	require.Zero(t, copied)
	parts, _, _ = ranks[0].Registered()
	require.Zero(t, parts)

	own, err := ranks[0].Expose(arena.memory[:10], transport.AccessRead)
	require.NoError(t, err)
	clear(target)
	require.NoError(t, pull(t, ranks, target, k))
	require.Equal(t, source, target)
	target[5]++
	require.NoError(t, push(t, ranks, target, k))
	require.Equal(t, target, source)
	_, copied = ranks[0].Bounces()
	require.Equal(t, 2, copied)
	parts, _, _ = ranks[0].Registered()
	require.Equal(t, 1, parts, "a part of the arena in use stays")
	require.NoError(t, ranks[0].Conceal(own))
	require.Contains(t, <-lines, "messages are copied, since memory cannot be registered: ")
	require.Contains(t, ranks[0].ExplainMemory(), "1 evicted")
	lent, _ := ranks[0].Bounces()
	require.Zero(t, lent)
	closeAll(t, ranks)
	require.Empty(t, lines, "once")
}

// TestNoMemoryToPin checks that New fails when the minimum memory of a rank cannot be registered.
func TestNoMemoryToPin(t *testing.T) {
	places := pinning(memory(verbstest.StyleInfiniBand, 1))
	places[0].provider.(*verbstest.Host).PinMost = 1000
	_, err := rdma.New(rdma.Config{
		Size: 2, Job: "test", Secret: []byte("secret"), Rails: []rdma.Rail{{Provider: places[0].provider, Interface: places[0].name}},
		Lookup: func(int) ([]rdma.Location, error) { return nil, nil }, Sleeper: new(transport.ChannelSleeper),
	})
	require.ErrorContains(t, err, "to copy through")
	require.ErrorContains(t, err, "are pinned of at most 1000")
}

// TestSoftwareRegisters checks that nothing is copied and no registration is kept on adapters where a
// registration is only an entry in a table.
func TestSoftwareRegisters(t *testing.T) {
	arena := &testArena{memory: make([]byte, 4<<20)}
	ranks := newWorld(t, memory(verbstest.StyleIWARP, 2), func(c *rdma.Config) { c.Arena, c.CopyBelow = arena, 1<<20 }).ranks(t)
	k, err := ranks[1].Expose(arena.memory[:100], transport.AccessRead)
	require.NoError(t, err)
	require.Zero(t, k.Token>>32)
	require.NoError(t, pull(t, ranks, make([]byte, 100), k))
	parts, lasting, single := ranks[1].Registered()
	require.Equal(t, []int{0, 0, 1}, []int{parts, lasting, single})
	_, copied := ranks[0].Bounces()
	require.Zero(t, copied)
	require.Empty(t, ranks[0].ExplainMemory())
	require.Same(t, arena, ranks[0].Arena())
	require.NoError(t, ranks[1].Conceal(k))
	require.ErrorIs(t, pull(t, ranks, make([]byte, 100), k), transport.ErrBadKey)
	closeAll(t, ranks)
}

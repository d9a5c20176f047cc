package shm_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// serveNote returns the header of a request for a copy, with sequence number 0, in the format of
// staging.go.
func serveNote(ticket, verb, n uint64, k transport.Key) transport.Header {
	return transport.Header{A: n<<16 | verb<<8 | ticket, B: k.Addr, C: k.Token}
}

// A peer that sends a request which no correct peer sends is reported as lost, and the exposed
// memory stays unchanged.
func TestBadRequests(t *testing.T) {
	const get, add, stranger = 0, 2, 3
	for name, c := range map[string]struct{ ticket, verb, n uint64 }{
		"long":            {0, get, shm.StagingBytes/8 + 1},
		"no ticket":       {8, get, 8},
		"no verb":         {0, stranger, 8},
		"short addition":  {0, add, 4},
		"no addition":     {0, add, 0},
		"a long addition": {0, add, 16},
	} {
		t.Run(name, func(t *testing.T) {
			ts := local(t, 2, true)
			memory := pattern(1<<20, 1)
			k, err := ts[0].Expose(memory, transport.AccessRead|transport.AccessAtomic)
			require.NoError(t, err)
			require.NoError(t, shm.Note(ts[1], 0, shm.NoteServe, serveNote(c.ticket, c.verb, c.n, k)))
			l := &log{}
			poll(t, ts[0], l, 3)
			require.Len(t, l.downs, 1)
			require.ErrorIs(t, l.downs[0], transport.ErrDamaged)
			require.Equal(t, pattern(1<<20, 1), memory)
		})
	}
}

// The owner refuses an addition to a word that is not aligned.
func TestAdditionToNoWord(t *testing.T) {
	for off, code := range map[int]uint64{0: 1, 4: 2, 8: 1} {
		ts := local(t, 2, true)
		k, err := ts[0].Expose(make([]byte, 64), transport.AccessAtomic)
		require.NoError(t, err)
		require.NoError(t, shm.Note(ts[1], 0, shm.NoteServe, serveNote(0, 2, 8, k.At(off))))
		poll(t, ts[0], &log{}, 2)
		require.Equal(t, code, binary.NativeEndian.Uint64(shm.Control(ts[1], 1)[shm.OffTickets:]), "at %d", off)
	}
}

// The owner does not serve a request that was withdrawn, because another operation may already use
// the staging buffer.
func TestTakenBackIsNotServed(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	shm.ForceWay(ts[0], shm.WayPiped)
	const n = 1 << 20
	k, err := ts[1].Expose(pattern(n, 5), transport.AccessRead)
	require.NoError(t, err)
	l := &log{}
	require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, n), k, 1))
	for len(l.done) == 0 {
		poll(t, ts[0], l, 1)
	}
	buffers := shm.Buffers(ts[0])
	require.Equal(t, make([]byte, len(buffers)), buffers, "the reader has copied alone, without staging buffers")
	tickets := bytes.Clone(shm.Control(ts[0], 0)[shm.OffTickets:][:512])
	poll(t, ts[1], l, 10)
	require.Equal(t, make([]byte, len(buffers)), buffers)
	require.Equal(t, tickets, shm.Control(ts[0], 0)[shm.OffTickets:][:512])
}

// A peer that copies directly does not write to memory that was exposed for reading only, and does
// not read memory that was exposed for writing only.
func TestRightsOfPrivateMemory(t *testing.T) {
	needsAlone(t)
	for name, c := range map[string]struct {
		access   transport.Access
		get, put error
	}{
		"read":  {transport.AccessRead, nil, transport.ErrBadKey},
		"write": {transport.AccessWrite, transport.ErrBadKey, nil},
		"both":  {transport.AccessRead | transport.AccessWrite, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ts := pair(t)
			k, err := ts[1].Expose(pattern(100, 1), c.access)
			require.NoError(t, err)
			require.ErrorIs(t, get(t, ts, make([]byte, 100), k), c.get)
			l := &log{}
			require.NoError(t, endpointTo(t, ts[0], 1).Put(make([]byte, 100), k, 1))
			for len(l.done) == 0 {
				poll(t, ts[0], l, 1)
			}
			require.ErrorIs(t, l.done[0].err, c.put)
		})
	}
}

// Descriptors of shared Gets are reused: the owner helps with each of many Gets.
func TestDescriptorsAreUsedAgain(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	shm.ForceWay(ts[0], shm.WayShared)
	const n = 1 << 20
	k, err := ts[1].Expose(pattern(n, 5), transport.AccessRead)
	require.NoError(t, err)
	read := shm.CountDirect(ts[0], func() { poll(t, ts[1], &log{}, 1) })
	for range 40 {
		*read = 0
		require.NoError(t, get(t, ts, make([]byte, n), k))
		require.Less(t, *read, n)
	}
}

// Get returns ErrAgain if as many operations are pending with a peer as its Caps allow.
func TestMaxReads(t *testing.T) {
	ts := local(t, 2, false)
	e := endpointTo(t, ts[0], 1)
	k := ts[1].Arena().Key(0)
	for range e.Caps().MaxReads {
		require.NoError(t, e.Get(make([]byte, 8), k, 1))
	}
	require.ErrorIs(t, e.Get(make([]byte, 8), k, 1), transport.ErrAgain)
	l := &log{}
	poll(t, ts[0], l, 2)
	require.Len(t, l.done, e.Caps().MaxReads)
	require.NoError(t, e.Get(make([]byte, 8), k, 1))
}

// One Poll copies about PollBytes and leaves the rest to the next Poll.
func TestPollCopiesABoundedAmount(t *testing.T) {
	ts := local(t, 2, false)
	k, err := ts[1].Expose(make([]byte, shm.PollBytes/2), transport.AccessRead)
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, endpointTo(t, ts[0], 1).Get(make([]byte, shm.PollBytes/2), k, 1))
	}
	l := &log{}
	for polls := 1; polls <= 5; polls++ {
		poll(t, ts[0], l, 1)
		require.Len(t, l.done, 2*polls)
	}
	ts[0].MarkDown(1, unix.ESRCH)
	poll(t, ts[0], l, 1)
	require.Len(t, l.downs, 1)
}

// An operation that ends beyond an arena accesses no memory, even if it is longer than one Poll
// copies.
func TestArenaEndsWhereItEnds(t *testing.T) {
	ts := pair(t)
	e := endpointTo(t, ts[0], 1)
	size := ts[1].Arena().Size()
	const inside = shm.PollBytes + shm.PollBytes/2
	last, err := ts[1].Arena().Bytes(size-inside, inside)
	require.NoError(t, err)
	for n, want := range map[int]error{inside: nil, inside + 1: transport.ErrBadKey} {
		copy(last, pattern(inside, 1))
		l, dst := &log{}, make([]byte, n)
		err := e.Get(dst, ts[1].Arena().Key(size-inside), 1)
		require.ErrorIs(t, err, want)
		poll(t, ts[0], l, 4)
		require.Equal(t, want == nil, bytes.Equal(dst[:inside], last))
		err = e.Put(make([]byte, n), ts[1].Arena().Key(size-inside), 2)
		require.ErrorIs(t, err, want)
		poll(t, ts[0], l, 4)
		require.Equal(t, want != nil, bytes.Equal(pattern(inside, 1), last))
		require.False(t, want == nil && len(l.done) != 2)
	}
}

// All operations complete even if a Poll exceeds its limit in order to complete a chunk.
func TestPollThatCopiesTooMuch(t *testing.T) {
	ts := pair(t)
	needsAlone(t)
	shm.ForceWay(ts[0], shm.WayShared)
	e, l := endpointTo(t, ts[0], 1), &log{}
	for _, n := range []int{900_000, 200_000} { // in chunks of 64 KiB and 48 KiB
		k, err := ts[1].Expose(make([]byte, n), transport.AccessRead)
		require.NoError(t, err)
		require.NoError(t, e.Get(make([]byte, n), k, 1))
	}
	require.NoError(t, e.Get(make([]byte, 100), ts[1].Arena().Key(0), 1))
	for len(l.done) < 3 {
		poll(t, ts[0], l, 1)
	}
	for _, d := range l.done {
		require.NoError(t, d.err)
	}
}

// A range of node memory can be used by one transport only, even after this transport was closed.
func TestRangeHasOneTransport(t *testing.T) {
	ts, node := mapped(t, 2, shm.Config{})
	_, err := shm.New(node, shm.Config{Rank: 1, LocalRank: 1})
	require.ErrorContains(t, err, "local rank 1 has joined already: a rank joins its job once, in one process")
	for _, tr := range ts {
		require.NoError(t, tr.Close())
	}
	_, err = shm.New(node, shm.Config{Rank: 1, LocalRank: 1})
	require.ErrorContains(t, err, "local rank 1 has joined already")
	require.NoError(t, node.Close())
}

package devicetest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// RoCE executes every kind of request except a Send with Invalidate, on a connection within the process.
func (s *Subject) RoCE(t *testing.T) {
	t.Helper()
	b := s.bench(t, allAccess|uverbs.AccessRemoteAtomic)
	b.needConnections()
	a, z := b.pair(nil), b.pair(nil)
	b.connect(a, z)
	b.exchange(a, z)

	// The following requests use immediate data and atomics, which iWARP does not have.
	b.receive(z, 50, 4096, 64)
	b.receive(z, 51, 4160, 64)
	copy(b.memory, "immediately")
	b.post(a, uverbs.SendRequest{ID: 52, Op: uverbs.OpSendImmediate, Immediate: 0x01020304, Segments: b.segment(0, 11)})
	c := b.next(50)
	require.Equal(t, uverbs.Completion{ID: 50, Length: 11, QueuePair: z.Number, Immediate: 0x01020304, Op: uverbs.CompletedReceive, HasImmediate: true}, c)
	require.Equal(t, "immediately", string(b.memory[4096:4107]))
	b.post(a, uverbs.SendRequest{
		ID: 53, Op: uverbs.OpWriteImmediate, Immediate: 7, Segments: b.segment(0, 11), RemoteAddress: b.region.Address + 8192, RKey: b.region.RKey,
	})
	c = b.next(51)
	require.Equal(t, uverbs.CompletedReceiveImmediate, c.Op)
	require.EqualValues(t, 7, c.Immediate)
	require.EqualValues(t, 11, c.Length)
	require.Equal(t, "immediately", string(b.memory[8192:8203]))

	word := b.memory[12288:12296]
	binary.NativeEndian.PutUint64(word, 40)
	remote := uverbs.SendRequest{Segments: b.segment(0, 8), RemoteAddress: b.region.Address + 12288, RKey: b.region.RKey}
	remote.ID, remote.Op, remote.Compare = 54, uverbs.OpFetchAdd, 2
	b.post(a, remote)
	require.EqualValues(t, 40, binary.NativeEndian.Uint64(b.memory))
	require.EqualValues(t, 42, binary.NativeEndian.Uint64(word))
	remote.ID, remote.Op, remote.Compare, remote.Swap = 55, uverbs.OpCompareSwap, 42, 1<<40
	b.post(a, remote)
	require.EqualValues(t, 42, binary.NativeEndian.Uint64(b.memory))
	require.EqualValues(t, 1<<40, binary.NativeEndian.Uint64(word))
	remote.ID, remote.Compare, remote.Swap = 56, 1, 2
	b.post(a, remote)
	require.EqualValues(t, 1<<40, binary.NativeEndian.Uint64(word), "compared with another value")
	b.breach(a, z)
}

// Shared has two queue pairs use one shared receive queue.
func (s *Subject) Shared(t *testing.T) {
	t.Helper()
	b := s.bench(t, allAccess)
	b.needConnections()
	shared, err := b.domain.Receives(8, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	a, z := b.pair(shared), b.pair(shared)
	b.connect(a, z)
	require.ErrorIs(t, shared.Close(), unix.EBUSY)
	list := make([]uverbs.ReceiveRequest, 100) // providers may have room for more than they report
	for i := range list {
		list[i] = uverbs.ReceiveRequest{ID: uint64(100 + i), Segments: b.segment(4096+64*i, 64)}
	}
	n, err := shared.PostReceives(list[:4])
	require.NoError(t, err)
	require.Equal(t, 4, n)
	for i, q := range []*Pair{a, z, a} {
		copy(b.memory, []string{"one", "two", "six"}[i])
		b.post(q, uverbs.SendRequest{ID: uint64(i), Op: uverbs.OpSend, Segments: b.segment(0, 3)})
		c := b.next(uint64(100 + i))
		to := z
		if q == z {
			to = a
		}
		require.Equal(t, uverbs.Completion{ID: uint64(100 + i), Length: 3, QueuePair: to.Number, Op: uverbs.CompletedReceive}, c)
		require.Equal(t, []string{"one", "two", "six"}[i], string(b.memory[4096+64*i:][:3]))
	}
	n, err = shared.PostReceives(list)
	require.ErrorIs(t, err, uverbs.ErrFull)
	require.GreaterOrEqual(t, n, shared.Capacity()-1)
}

// exchange posts Sends, Writes and Reads from a to z. RoCE and iWARP both have these requests.
func (b *bench) exchange(a, z *Pair) {
	b.Helper()
	// The first Send of this list has four segments, the second none, the third two, and the fourth one. The third Send
	// is inline. Only the last Send is signalled.
	for i := range 4 {
		b.receive(z, uint64(10+i), 4096+256*i, 256)
	}
	copy(b.memory, "one two three")
	keyed := func(off, n int) uverbs.Segment { return b.segment(off, n)[0] }
	private := []byte("from the heap")
	n, err := a.PostSends([]uverbs.SendRequest{
		{ID: 20, Op: uverbs.OpSend, Segments: []uverbs.Segment{keyed(0, 4), {}, keyed(8, 5), keyed(4, 3)}},
		{ID: 21, Op: uverbs.OpSend},
		{ID: 22, Op: uverbs.OpSend, Flags: uverbs.FlagInline | uverbs.FlagSolicited, Segments: []uverbs.Segment{{Data: private[:5]}, {Data: private[5:]}}},
		{ID: 23, Op: uverbs.OpSend, Flags: uverbs.FlagSignalled, Segments: b.segment(0, 3)},
	})
	require.NoError(b, err)
	require.Equal(b, 4, n)
	clear(private)
	for i, want := range []string{"one threetwo", "", "from the heap", "one"} {
		c := b.next(uint64(10 + i))
		require.Equal(b, uverbs.Completion{ID: uint64(10 + i), Length: uint32(len(want)), QueuePair: z.Number, Op: uverbs.CompletedReceive}, c)
		require.Equal(b, want, string(b.memory[4096+256*i:][:len(want)]))
	}
	require.Equal(b, uverbs.CompletedSend, b.next(23).Op)
	require.Empty(b, b.log, "unsignalled")

	// The first Write and the first Read are longer than a packet. A request with a fence follows a Read.
	for i := range b.memory[:8000] {
		b.memory[i] = byte(i * 7)
	}
	remote := b.region.Address
	b.post(a, uverbs.SendRequest{ID: 30, Op: uverbs.OpWrite, Segments: b.segment(0, 8000), RemoteAddress: remote + 16384, RKey: b.region.RKey})
	b.post(a, uverbs.SendRequest{ID: 31, Op: uverbs.OpRead, Segments: b.segment(32768, 8000), RemoteAddress: remote + 16384, RKey: b.region.RKey})
	require.Equal(b, b.memory[:8000], b.memory[32768:40768])
	b.receive(z, 32, 4096, 256)
	n, err = a.PostSends([]uverbs.SendRequest{
		{ID: 33, Op: uverbs.OpRead, Segments: b.segment(40960, 4), RemoteAddress: remote, RKey: b.region.RKey},
		{ID: 34, Op: uverbs.OpSend, Flags: uverbs.FlagFence | uverbs.FlagSignalled, Segments: b.segment(40960, 4)},
	})
	require.NoError(b, err)
	require.Equal(b, 2, n)
	b.next(34)
	b.next(32)
	require.Equal(b, b.memory[:4], b.memory[4096:4100], "sent what the Read has brought")
	b.post(a, uverbs.SendRequest{ID: 35, Op: uverbs.OpWrite, Segments: nil, RemoteAddress: remote, RKey: b.region.RKey})
	b.post(a, uverbs.SendRequest{ID: 36, Op: uverbs.OpRead, Segments: nil, RemoteAddress: remote, RKey: b.region.RKey})

	// There are more requests than the queue has entries, so that the queue wraps around.
	for i := range 3 * a.Granted.Sends {
		b.receive(z, uint64(100+i), 4096, 8)
		b.post(a, uverbs.SendRequest{ID: uint64(200 + i), Op: uverbs.OpSend, Segments: b.segment(0, 8)})
		require.EqualValues(b, 8, b.next(uint64(100+i)).Length)
	}
}

// breach ends a connection by an access with a key that is no longer valid.
func (b *bench) breach(a, z *Pair) {
	b.Helper()
	granted, err := b.domain.Memory(make([]byte, 4096), allAccess)
	require.NoError(b, err)
	request := uverbs.SendRequest{ID: 60, Op: uverbs.OpWrite, Segments: b.segment(0, 8), RemoteAddress: granted.Address, RKey: granted.RKey}
	b.post(a, request)
	b.receive(z, 61, 4096, 64)
	// A peer cannot invalidate a memory region of user space on a RoCE device, but only memory windows and the
	// kernel's regions. So this is a plain Send, and the test closes the region itself.
	b.post(a, uverbs.SendRequest{ID: 62, Op: uverbs.OpSend, Segments: b.segment(0, 8)})
	require.NoError(b, granted.Close())
	require.Equal(b, uverbs.StatusSuccess, b.next(61).Status)
	b.receive(z, 63, 4096, 64)
	request.ID, request.Flags = 64, uverbs.FlagSignalled
	_, err = a.PostSends([]uverbs.SendRequest{request, {ID: 65, Op: uverbs.OpSend, Segments: b.segment(0, 8)}})
	require.NoError(b, err)
	require.NotEqual(b, uverbs.StatusSuccess, b.next(64).Status)
	require.NoError(b, z.SetState(uverbs.StateError))
	require.NoError(b, a.SetState(uverbs.StateError))
	require.Equal(b, uverbs.StatusFlushed, b.next(65).Status)
	require.NotEqual(b, uverbs.StatusSuccess, b.next(63).Status)
}

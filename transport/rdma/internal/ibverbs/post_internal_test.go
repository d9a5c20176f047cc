package ibverbs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// sumOf computes the checksum that the fake library computes.
func sumOf(text string) uint32 {
	v := uint32(0)
	for i := range len(text) {
		v = v*31 + uint32(text[i])
	}
	return v
}

// TestRequests checks that the library gets every field of every kind of request. The fake library reports in a
// completion which values it got.
func TestRequests(t *testing.T) {
	f := newFakes(t)
	q := f.pair(t, nil, 40)
	data := []uverbs.Segment{{Data: make([]byte, 10), LKey: 1}, {}, {Data: make([]byte, 5), LKey: 1}}
	private := []byte("from a stack")
	n, err := q.PostSends([]uverbs.SendRequest{
		{ID: 1, Op: uverbs.OpSend, Segments: data},
		{ID: 2, Op: uverbs.OpSendImmediate, Immediate: 0x01020304},
		{ID: 3, Op: uverbs.OpSendInvalidate, Invalidate: 0x05060708, Segments: data[:1]},
		{ID: 4, Op: uverbs.OpWrite, RemoteAddress: 1000, RKey: 7, Segments: data},
		{ID: 5, Op: uverbs.OpRead, RemoteAddress: 2000, RKey: 9, Segments: data[2:]},
		{ID: 6, Op: uverbs.OpCompareSwap, RemoteAddress: 1 << 20, Compare: 11, Swap: 13, RKey: 17, Segments: data[:1]},
		{ID: 7, Op: uverbs.OpFetchAdd, RemoteAddress: 1 << 21, Compare: 19, RKey: 23, Segments: data[:1]},
		{ID: 8, Op: uverbs.OpWriteImmediate, Immediate: 29, Segments: data[:1]},
		{ID: 9, Op: uverbs.OpSend, Flags: uverbs.FlagInline, Segments: []uverbs.Segment{{Data: private[:5]}, {Data: private[5:]}}},
		{ID: 10, Op: uverbs.OpWrite, Flags: uverbs.FlagInline, Segments: []uverbs.Segment{{Data: private[5:9]}}},
		{ID: 11, Op: uverbs.OpSend, Flags: uverbs.FlagInline},
		{ID: 12, Op: uverbs.OpSend, Flags: uverbs.FlagFence, Segments: data},
	})
	require.NoError(t, err)
	require.Equal(t, 12, n)
	want := []uverbs.Completion{
		{ID: 1, Length: 15, HasImmediate: true},
		{ID: 2, Immediate: 0x01020304, Op: 3, HasImmediate: true},
		{ID: 3, Length: 10, Op: 9},
		{ID: 4, Length: 15, Immediate: 1000 + 3*7, Op: 0, HasImmediate: true},
		{ID: 5, Length: 5, Immediate: 2000 + 3*9, Op: 4, HasImmediate: true},
		{ID: 6, Length: 10, Immediate: 1<<20 + 3*11 + 5*13 + 7*17, Op: 5, HasImmediate: true},
		{ID: 7, Length: 10, Immediate: 1<<21 + 3*19 + 7*23, Op: 6, HasImmediate: true},
		{ID: 8, Length: 10, Immediate: 29, Op: 1, HasImmediate: true},
		{ID: 9, Length: 12, Immediate: sumOf("from a stack"), HasImmediate: true},
		{ID: 10, Length: 4, Immediate: sumOf("a st"), Op: 0, HasImmediate: true},
		{ID: 11, HasImmediate: true},
		{ID: 12, Status: uverbs.StatusFlushed},
	}
	for i := range want {
		want[i].QueuePair = q.Number
		// The fake library reports the opcode of the request instead of the opcode of a completion.
		switch want[i].ID {
		case 1, 9, 11:
			want[i].Op = uverbs.Completed(uverbs.OpSend)
		}
	}
	got := make([]uverbs.Completion, 20)
	require.Equal(t, 5, f.queue.Poll(got[:5]))
	require.Equal(t, 7, f.queue.Poll(got[5:]))
	require.Equal(t, want, got[:12])
	require.Zero(t, f.queue.Poll(got))
}

// TestWrongRequests checks that a request that the device cannot carry out is refused, and that the requests
// before it are posted.
func TestWrongRequests(t *testing.T) {
	f := newFakes(t)
	memory, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	long := []uverbs.Segment{{Data: memory}, {Data: memory}}
	q := f.pair(t, nil, 40)
	out := make([]uverbs.Completion, 8)
	fine := uverbs.SendRequest{ID: 1, Op: uverbs.OpSend}
	for name, wrong := range map[string]uverbs.SendRequest{
		"segments": {Op: uverbs.OpSend, Segments: make([]uverbs.Segment, 4)},
		"length":   {Op: uverbs.OpSend, Segments: long},
		"inline":   {Op: uverbs.OpSend, Flags: uverbs.FlagInline, Segments: []uverbs.Segment{{Data: make([]byte, 65)}}},
		"opcode":   {Op: 200},
		"library":  {Op: uverbs.OpRead, Flags: uverbs.FlagInline},
	} {
		n, err := q.PostSends([]uverbs.SendRequest{fine, fine, wrong, fine})
		require.ErrorIs(t, err, uverbs.ErrRequest, name)
		require.Equal(t, 2, n, name)
		require.Equal(t, 2, f.queue.Poll(out), name)
	}
	for _, segments := range [][]uverbs.Segment{make([]uverbs.Segment, 4), long} {
		n, err := q.PostReceives([]uverbs.ReceiveRequest{{ID: 1}, {Segments: segments}})
		require.ErrorIs(t, err, uverbs.ErrRequest)
		require.Equal(t, 1, n)
		require.Equal(t, 1, f.queue.Poll(out))
	}

	t.Setenv("FAKE_NO_BAD", "1")
	n, err := q.PostSends([]uverbs.SendRequest{fine, {Op: uverbs.OpRead, Flags: uverbs.FlagInline}})
	require.ErrorIs(t, err, uverbs.ErrAnswer)
	require.Zero(t, n)
}

// TestLongLists posts lists with more requests, segments or inline bytes than one call of the library takes. The
// test checks that all requests are posted in order, and that a queue without room for the whole list takes the
// first requests of the list.
func TestLongLists(t *testing.T) {
	f := newFakes(t)
	q := f.pair(t, nil, 50)
	out := make([]uverbs.Completion, 70)
	three := []uverbs.Segment{{Data: make([]byte, 1)}, {Data: make([]byte, 2)}, {Data: make([]byte, 4)}}
	inline := []uverbs.Segment{{Data: make([]byte, 60)}}
	for name, kind := range map[string]uverbs.SendRequest{
		"requests": {Op: uverbs.OpSend}, "segments": {Op: uverbs.OpSend, Segments: three},
		"inline": {Op: uverbs.OpSend, Flags: uverbs.FlagInline, Segments: inline},
	} {
		list := make([]uverbs.SendRequest, 64)
		for i := range list {
			list[i] = kind
			list[i].ID = uint64(i)
		}
		n, err := q.PostSends(list)
		require.ErrorIs(t, err, uverbs.ErrFull, name)
		require.Equal(t, 50, n, name)
		require.Equal(t, 50, f.queue.Poll(out), name)
		for i := range out[:50] {
			require.EqualValues(t, i, out[i].ID, name)
			require.Equal(t, out[0].Length, out[i].Length, name)
		}
		n, err = q.PostSends(list[:50])
		require.NoError(t, err, name)
		require.Equal(t, 50, n)
		require.Equal(t, 50, f.queue.Poll(out))
	}
	list := make([]uverbs.ReceiveRequest, 70)
	for i := range list {
		list[i] = uverbs.ReceiveRequest{ID: uint64(i), Segments: three}
	}
	n, err := q.PostReceives(list)
	require.ErrorIs(t, err, uverbs.ErrFull)
	require.Equal(t, 64, n)
	require.Equal(t, 64, f.queue.Poll(out))
	for i := range out[:64] {
		require.Equal(t, uverbs.Completion{ID: uint64(i), Length: 7, QueuePair: q.Number, Op: uverbs.CompletedReceive}, out[i])
	}
}

// TestSharedReceives checks a shared receive queue, and that a queue pair that uses it refuses receives of its own.
func TestSharedReceives(t *testing.T) {
	f := newFakes(t)
	s, err := f.domain.NewSharedReceiveQueue(10, 2)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, 12, s.Capacity())
	require.Equal(t, 2, s.Segments)
	q := f.pair(t, s, 4)
	require.Zero(t, q.Granted.Receives)
	_, err = q.PostReceives(make([]uverbs.ReceiveRequest, 1))
	require.ErrorIs(t, err, uverbs.ErrRequest)
	n, err := s.PostReceives([]uverbs.ReceiveRequest{{ID: 4, Segments: []uverbs.Segment{{Data: make([]byte, 9)}}}, {ID: 5}})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	var out [4]uverbs.Completion
	require.Equal(t, 2, f.queue.Poll(out[:]))
	require.EqualValues(t, 9, out[0].Length)
}

// TestEvents checks events of queue pairs, ports and completions. Each event has to be acknowledged, because
// otherwise the library could not destroy its object.
func TestEvents(t *testing.T) {
	f := newFakes(t)
	q := f.pair(t, nil, 4)
	readable := func(fd int) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n == 1
	}
	require.False(t, readable(f.EventFD()))
	require.NoError(t, q.SetState(uverbs.StateError))
	require.NoError(t, q.Modify(&uverbs.PairAttributes{Mask: uverbs.MaskPort, Port: 2}))
	require.True(t, readable(f.EventFD()))
	for _, want := range []uverbs.Event{{Type: uverbs.EventQueuePairFatal, Element: 5}, {Type: uverbs.EventPortError, Element: 2}} {
		e, ok, err := f.NextEvent()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, e)
	}
	ok, err := f.channel.Next()
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, f.queue.Arm())
	_, err = q.PostSends([]uverbs.SendRequest{{ID: 3, Op: uverbs.OpSend}, {ID: 4, Op: uverbs.OpSend}})
	require.NoError(t, err)
	require.True(t, readable(f.channel.FD()))
	ok, err = f.channel.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, readable(f.channel.FD()), "armed once")
	t.Setenv("FAKE_ARM", "1")
	require.ErrorIs(t, f.queue.Arm(), unix.EIO)
	require.ErrorIs(t, q.Modify(&uverbs.PairAttributes{Mask: 1 << 19}), unix.EPERM, "-1 without errno is an error, too")
	t.Setenv("FAKE_POLL", "1")
	require.Zero(t, f.queue.Poll(make([]uverbs.Completion, 1)))
	require.ErrorIs(t, f.queue.Arm(), uverbs.ErrAnswer)
	_, _, err = f.NextEvent()
	require.ErrorIs(t, err, uverbs.ErrAnswer)
}

// TestNoBytes checks requests without bytes. libsiw needs a segment in a receive and in a Read. Other libraries
// need no segment.
func TestNoBytes(t *testing.T) {
	empty := []uverbs.Segment{{}, {LKey: 3}}
	for _, siw := range []bool{false, true} {
		want := int32(0)
		if siw {
			want = 1
		}
		receives := newReceiveList(2, siw)
		n, err := receives.fill(make([]uverbs.ReceiveRequest, listMax))
		require.NoError(t, err)
		require.Equal(t, listMax, n)
		n, err = receives.fill([]uverbs.ReceiveRequest{{}, {Segments: empty}})
		require.NoError(t, err)
		require.Equal(t, 2, n)
		for i := range 2 {
			require.Equal(t, want, receives.works[i].count)
			require.Zero(t, receives.segments.array[i])
		}
		receives.close()
		sends := newSendList(2, 64, siw)
		n, err = sends.fill([]uverbs.SendRequest{{Op: uverbs.OpRead, Segments: empty}, {Op: uverbs.OpSend}, {Op: uverbs.OpWrite}})
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, []int32{want, 0, 0}, []int32{sends.works[0].count, sends.works[1].count, sends.works[2].count})
		sends.close()
	}
}

// TestModify checks that all attributes are at the library's offsets.
func TestModify(t *testing.T) {
	f := newFakes(t)
	q := f.pair(t, nil, 4)
	want := [144]byte{0: 1, 8: 3, 16: 5, 20: 6, 24: 7, 28: 8, 32: 9, 56: 10, 71: 11, 72: 12, 76: 13, 77: 14, 78: 15, 80: 16, 82: 17, 83: 18, 84: 19, 85: 1, 86: 20, 120: 21, 126: 22, 127: 23, 128: 24, 129: 25, 130: 26, 131: 27, 132: 28}
	require.NoError(t, q.Modify(&uverbs.PairAttributes{
		Mask: uverbs.MaskRemote, State: 1, PathMTU: 3, Qkey: 5, ReceivePSN: 6, SendPSN: 7, Remote: 8, Access: 9,
		Path: uverbs.Path{
			GID: [16]byte{0: 10, 15: 11}, FlowLabel: 12, GIDIndex: 13, HopLimit: 14, TrafficClass: 15, LID: 16, ServiceLevel: 17, PathBits: 18,
			StaticRate: 19, Global: true, Port: 20,
		},
		PkeyIndex: 21, ReadsOut: 22, ReadsIn: 23, RNRTimer: 24, Port: 25, Timeout: 26, Retries: 27, RNRRetries: 28,
	}))
	var out [1]uverbs.Completion
	require.Equal(t, 1, f.queue.Poll(out[:]))
	require.EqualValues(t, sumOf(string(want[:])), out[0].ID)
}

// TestAllocations checks that posts and polls allocate nothing.
func TestAllocations(t *testing.T) {
	f := newFakes(t)
	q := f.pair(t, nil, 50)
	out := make([]uverbs.Completion, 64)
	sends := []uverbs.SendRequest{{Op: uverbs.OpSend, Segments: []uverbs.Segment{{Data: make([]byte, 8)}}}, {Op: uverbs.OpSend, Flags: uverbs.FlagInline, Segments: []uverbs.Segment{{Data: make([]byte, 8)}}}}
	receives := []uverbs.ReceiveRequest{{Segments: sends[0].Segments}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		n, err := q.PostSends(sends)
		m, e := q.PostReceives(receives)
		if polled := f.queue.Poll(out); n+m != polled || errors.Join(err, e) != nil {
			t.Error(n, m, polled, err, e)
		}
		if err := f.queue.Arm(); err != nil {
			t.Error(err)
		}
	}))
}

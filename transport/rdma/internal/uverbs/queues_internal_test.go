package uverbs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSendQueueWraps posts lists of all lengths until the queue has wrapped around many times. The test compares
// the requests that the device finds in the queue with the posted ones.
func TestSendQueueWraps(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		_, q := fakePair(t, c)
		h := newHardware(c, k)
		memory := []byte("abcdefghijklmnopqrstuvwxyz")
		var posted, taken uint64
		for round := range 50 {
			var list []SendRequest
			for i := range 1 + 3*round%4 {
				r := SendRequest{ID: posted + uint64(i), Op: OpSend, Segments: []Segment{{Data: memory[:3], LKey: 7}, {}, {Data: memory[5:9], LKey: 8}}}
				if r.ID%3 == 0 {
					r.Flags = FlagInline
				}
				list = append(list, r)
			}
			rings := k.rings
			n, err := q.PostSends(list)
			room := q.Granted.Sends - int(posted-taken)
			require.Equal(t, min(room, len(list)), n)
			if n < len(list) {
				require.ErrorIs(t, err, ErrFull)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, min(n, 1), k.rings-rings, "one doorbell for a list")
			posted += uint64(n)
			for range 1 + round%2 {
				if taken == posted {
					break
				}
				inline := taken%3 == 0
				id, segments, data := h.takeSend(t, inline)
				require.Equal(t, taken, id)
				if inline {
					require.Equal(t, "abcfghi", string(data))
				} else {
					require.Equal(t, []siwSegment{{addressOf(memory), 3, 7}, {addressOf(memory[5:]), 4, 8}}, segments)
				}
				taken++
			}
		}
	})
}

// TestReceiveQueueWraps posts lists of receives of all lengths, to a queue pair and to a shared receive queue,
// until the queue has wrapped around many times. The test checks that the device finds the receives in order.
func TestReceiveQueueWraps(t *testing.T) {
	for _, isShared := range []bool{false, true} {
		eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
			t.Helper()
			h := newHardware(c, k)
			var post func([]ReceiveRequest) (int, error)
			var capacity int
			offset := int64(rqOffset)
			if isShared {
				d, err := c.NewProtectionDomain()
				require.NoError(t, err)
				s, err := d.NewSharedReceiveQueue(3, 2)
				require.NoError(t, err)
				post, capacity, offset = s.PostReceives, s.queue.capacity(), srqOffset
			} else {
				_, q := fakePair(t, c)
				post, capacity = q.PostReceives, q.Granted.Receives
			}
			memory := make([]byte, 100)
			var posted, taken uint64
			for round := range 50 {
				var list []ReceiveRequest
				for i := range 1 + round%4 {
					list = append(list, ReceiveRequest{ID: posted + uint64(i), Segments: []Segment{{}, {Data: memory[i:], LKey: uint32(round)}}})
				}
				n, err := post(list)
				require.Equal(t, min(capacity-int(posted-taken), len(list)), n)
				if n < len(list) {
					require.ErrorIs(t, err, ErrFull)
				}
				posted += uint64(n)
				for range 1 + round%3 {
					if taken == posted {
						break
					}
					id, segments := h.takeReceive(t, offset)
					require.Equal(t, taken, id)
					require.Len(t, segments, 1)
					taken++
				}
			}
			n, err := post([]ReceiveRequest{{Segments: []Segment{{Data: memory}, {Data: memory}, {Data: memory}}}})
			require.Zero(t, n)
			if capacity > int(posted-taken) {
				require.ErrorIs(t, err, ErrRequest, "more segments than there is room for")
			}
		})
	}
}

// TestCompletions polls successful, failed and flushed completions until the queue has wrapped around many
// times. The test compares each polled completion with the one that the device has written.
func TestCompletions(t *testing.T) {
	statuses := map[string]map[uint32]Status{
		"siw": {
			0: StatusSuccess, 1: StatusLocalLength, 2: StatusLocalProtection, 3: StatusLocalOperation, 4: StatusFlushed, 5: StatusBadResponse,
			6: StatusLocalAccess, 7: StatusRemoteAccess, 8: StatusRemoteInvalid, 9: StatusGeneral, 10: StatusGeneral, 0xffff: StatusGeneral,
		},
		"rxe": {
			0: StatusSuccess, 1: StatusLocalLength, 4: StatusLocalProtection, 5: StatusFlushed, 10: StatusRemoteAccess, 12: StatusRetries,
			13: StatusReceiverNotReady, 21: StatusGeneral, 22: StatusGeneral, 1 << 31: StatusGeneral, 256: StatusGeneral,
		},
	}
	for name, d := range fakes {
		c, k := fakeDevice(d)
		cq, _ := fakePair(t, c)
		h := newHardware(c, k)
		var written, taken uint64
		var want []Status
		for round := range 20 {
			for status, s := range statuses[name] {
				if !h.complete(written, status, uint32(written)) {
					require.Equal(t, cq.Capacity(), int(written-taken))
					break
				}
				want = append(want, s)
				written++
			}
			out := make([]Completion, 1+round%3)
			n := cq.Poll(out)
			require.Equal(t, min(len(out), int(written-taken)), n)
			for _, o := range out[:n] {
				require.Equal(t, Completion{ID: taken, Length: uint32(taken), QueuePair: 1234, Status: want[taken], Op: CompletedReceive}, o)
				taken++
			}
		}
		for taken < written {
			taken += uint64(cq.Poll(make([]Completion, 8)))
		}
		require.Zero(t, cq.Poll(make([]Completion, 8)))
	}
}

// TestRequestsThatNoDeviceHas checks that a request that the device cannot carry out is refused, and that the
// requests before it are posted.
func TestRequestsThatNoDeviceHas(t *testing.T) {
	memory := make([]byte, 200)
	one := []Segment{{Data: memory[:8]}}
	refused := map[string][]SendRequest{
		"siw": {
			{Op: OpSendImmediate, Segments: one},
			{Op: OpWriteImmediate, Segments: one},
			{Op: OpFetchAdd, Segments: one},
			{Op: OpCompareSwap, Segments: one},
			{Op: OpRead, Segments: []Segment{one[0], one[0]}},
			{Op: OpRead, Flags: FlagFence, Segments: one},
			{Op: OpRead, Flags: FlagInline, Segments: one},
			{Op: OpSend, Flags: FlagInline, Segments: []Segment{{Data: memory[:81]}}},
			{Op: OpSendInvalidate, Flags: FlagInline, Segments: one},
			{Op: OpSend, Segments: []Segment{one[0], one[0], one[0]}},
			{Op: 200, Segments: one},
		},
		"rxe": {
			{Op: OpRead, Flags: FlagInline, Segments: one},
			{Op: OpFetchAdd, Segments: []Segment{{Data: memory[:4]}}},
			{Op: OpFetchAdd, Segments: one, RemoteAddress: 4},
			{Op: OpCompareSwap, Flags: FlagInline, Segments: one},
			{Op: OpSend, Flags: FlagInline, Segments: []Segment{{Data: memory[:65]}}},
			{Op: OpSend, Segments: []Segment{one[0], one[0], one[0]}},
			{Op: 200, Segments: one},
		},
	}
	for name, d := range fakes {
		c, k := fakeDevice(d)
		_, q := fakePair(t, c)
		h := newHardware(c, k)
		for i := range refused[name] {
			n, err := q.PostSends([]SendRequest{{ID: uint64(i), Op: OpSend}, refused[name][i], {ID: 99, Op: OpSend}})
			require.ErrorIs(t, err, ErrRequest, "%s %d", name, i)
			require.Equal(t, 1, n)
			id, _, _ := h.takeSend(t, false)
			require.EqualValues(t, i, id)
		}
		n, err := q.PostSends([]SendRequest{{ID: 100, Op: OpSend}})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		id, segments, _ := h.takeSend(t, false)
		require.EqualValues(t, 100, id)
		require.Empty(t, segments)
	}
}

// TestLongRequests checks that requests of 2 GiB and more are refused. Only 31 or 32 bits of their length would reach
// the device.
func TestLongRequests(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, 4<<30+8, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	long := [][]Segment{{{Data: memory}}, {{Data: memory[:2<<30]}}, {{Data: memory[:1<<30]}, {Data: memory[:1<<30]}}}
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		_, q := fakePair(t, c)
		d, err := c.NewProtectionDomain()
		require.NoError(t, err)
		s, err := d.NewSharedReceiveQueue(3, 2)
		require.NoError(t, err)
		for _, segments := range long {
			for _, op := range []Opcode{OpSend, OpWrite, OpRead} {
				_, err = q.PostSends([]SendRequest{{Op: op, Segments: segments}})
				require.ErrorIs(t, err, ErrRequest)
			}
			for _, post := range []func([]ReceiveRequest) (int, error){q.PostReceives, s.PostReceives} {
				_, err = post([]ReceiveRequest{{Segments: segments}})
				require.ErrorIs(t, err, ErrRequest)
			}
		}
		most := []Segment{{Data: memory[:2<<30-1]}}
		_, err = q.PostSends([]SendRequest{{Op: OpSend, Segments: most}, {Op: OpWrite, Segments: most}, {Op: OpRead, Segments: most}})
		require.NoError(t, err)
		_, err = q.PostReceives([]ReceiveRequest{{Segments: most}})
		require.NoError(t, err)
	})
}

// TestDoorbellFails checks that PostSends counts a request as posted if only the doorbell fails, and that it
// returns the error of the doorbell.
func TestDoorbellFails(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		_, q := fakePair(t, c)
		k.refused[cmdPostSend] = unix.ENOTCONN
		n, err := q.PostSends([]SendRequest{{ID: 1, Op: OpSend}})
		require.Equal(t, 1, n)
		require.ErrorIs(t, err, unix.ENOTCONN)
		require.ErrorContains(t, err, "post sends, device fake0")
	})
}

// TestNoAllocation checks that posts and polls allocate no heap memory.
func TestNoAllocation(t *testing.T) {
	eachDriver(t, func(t *testing.T, c *Context, k *fakeKernel) {
		t.Helper()
		cq, q := fakePair(t, c)
		h := newHardware(c, k)
		memory := make([]byte, 64)
		sends := []SendRequest{{Op: OpSend, Segments: []Segment{{Data: memory}}}, {Op: OpWrite, Flags: FlagInline, Segments: []Segment{{Data: memory}}}}
		receives := []ReceiveRequest{{Segments: []Segment{{Data: memory}}}}
		var out [4]Completion
		require.Zero(t, testing.AllocsPerRun(100, func() {
			n, _ := q.PostSends(sends)
			m, _ := q.PostReceives(receives)
			h.complete(1, 0, 1)
			if n+m+cq.Poll(out[:]) != 4 {
				panic("not posted")
			}
			h.drain()
		}))
	})
}

// drain takes all requests and receives without checking them.
func (h *hardware) drain() {
	for _, offset := range []int64{sqOffset, rqOffset} {
		b := h.k.queues[offset]
		if !h.isSIW {
			i := at[rxeIndices](b, 0)
			i.consumer = i.producer
			continue
		}
		size := len(b) / fakeEntries
		for e := range fakeEntries {
			*at[uint32](b, e*size+8) = 0
		}
	}
}

// TestArm checks how Arm tells a device to report the next completion: siw through shared memory, and rxe by a
// command.
func TestArm(t *testing.T) {
	c, k := fakeDevice(siw{})
	cq, _ := fakePair(t, c)
	commands := len(k.seen)
	require.NoError(t, cq.Arm())
	require.EqualValues(t, 3, at[siwNotify](k.queues[cqOffset], fakeEntries*32).flags)
	require.Len(t, k.seen, commands)

	c, k = fakeDevice(rxe{})
	cq, _ = fakePair(t, c)
	require.NoError(t, cq.Arm())
	last := k.seen[len(k.seen)-1]
	require.Equal(t, words(cmdRequestNotify, 4, 4, 0), append(append([]byte(nil), last[:4]...), append([]byte{last[4], 0, 0, 0}, last[8:]...)...))
}

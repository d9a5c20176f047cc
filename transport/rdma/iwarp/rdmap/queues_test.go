package rdmap_test

import (
	"math"
	goruntime "runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
)

func TestInboundQueueHoldsTheDepth(t *testing.T) {
	for _, ird := range []int{0, 1, 3, 128} {
		q := rdmap.NewInboundQueue(ird)
		for round := range 3 { // the ring wraps around
			for i := range ird {
				require.NoError(t, q.Push(rdmap.ReadRequest{Size: uint32(round*1000 + i)}))
			}
			require.Equal(t, ird, q.Len())
			require.ErrorIs(t, q.Push(rdmap.ReadRequest{}), rdmap.ErrStream)
			for i := range ird {
				require.Equal(t, uint32(round*1000+i), q.Front().Size)
				q.Pop()
			}
			require.Zero(t, q.Len())
		}
		require.Panics(t, q.Pop)
		require.Panics(t, func() { q.Front() })
	}
}

// response is one Read Response segment. Two Reads are outstanding: a Read of 100 octets whose sink is STag 7,
// offset 1000, and a Read of 0 octets.
type response struct {
	stag    uint32
	to      uint64
	payload int
	last    bool
	err     error
	offset  int
}

func TestOutboundQueue(t *testing.T) {
	for name, c := range map[string][]response{
		"both in order":         {{7, 1000, 60, false, nil, 0}, {7, 1060, 40, true, nil, 60}, {0xbad, 0xbad, 0, true, nil, 0}},
		"at once":               {{7, 1000, 100, true, nil, 0}, {0, 0, 0, true, nil, 0}},
		"an empty last segment": {{7, 1000, 100, false, nil, 0}, {7, 1100, 0, true, nil, 100}, {0, 0, 0, true, nil, 0}},
		"one too many":          {{7, 1000, 100, true, nil, 0}, {7, 1000, 0, true, nil, 0}, {7, 1000, 0, true, rdmap.ErrOpcode, 0}},
		"wrong STag":            {{8, 1000, 100, true, ddp.ErrSTag, 0}},
		"wrong offset":          {{7, 1001, 99, true, ddp.ErrBounds, 0}},
		"gap":                   {{7, 1000, 60, false, nil, 0}, {7, 1061, 39, true, ddp.ErrBounds, 0}},
		"the same place again":  {{7, 1000, 60, false, nil, 0}, {7, 1000, 40, true, ddp.ErrBounds, 0}},
		"too long":              {{7, 1000, 101, true, ddp.ErrBounds, 0}},
		"too long at last":      {{7, 1000, 60, false, nil, 0}, {7, 1060, 41, true, ddp.ErrBounds, 0}},
		"too short":             {{7, 1000, 60, true, rdmap.ErrRemoteOperation, 0}},
		"nothing":               {{7, 1000, 0, true, rdmap.ErrRemoteOperation, 0}},
		"more than asked for":   {{7, 1000, 100, true, nil, 0}, {7, 1000, 1, true, ddp.ErrSTag, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			q := rdmap.NewOutboundQueue[string](2)
			q.Push(&rdmap.ReadRequest{SinkSTag: 7, SinkTO: 1000, Size: 100}, "first")
			q.Push(&rdmap.ReadRequest{}, "second")
			require.True(t, q.Full())
			require.Panics(t, func() { q.Push(&rdmap.ReadRequest{}, "third") })
			for i, s := range c {
				h := ddp.Tagged{Last: s.last, STag: s.stag, TO: s.to}
				offset, err := q.Check(&h, s.payload)
				require.Equal(t, s.err, err, "segment %d", i)
				if err != nil {
					return
				}
				require.Equal(t, s.offset, offset, "segment %d", i)
				require.Equal(t, s.last, q.Advance(&h, s.payload))
				if s.last {
					q.Pop()
				}
			}
			require.Zero(t, q.Len())
		})
	}
}

func TestOutboundQueueKeepsValues(t *testing.T) {
	q := rdmap.NewOutboundQueue[int](3)
	for round := range 5 {
		for i := range 3 {
			q.Push(&rdmap.ReadRequest{}, 10*round+i)
		}
		for i := range 3 {
			require.Equal(t, 10*round+i, *q.Front())
			q.Pop()
		}
	}
	require.Panics(t, q.Pop)
	require.Panics(t, func() { q.Front() })
	none := rdmap.NewOutboundQueue[int](0)
	require.True(t, none.Full(), "ORD zero means no reads")
}

func TestOutboundQueueLetsGoOfValues(t *testing.T) {
	type value [64]byte
	q := rdmap.NewOutboundQueue[*value](2)
	kept := func() weak.Pointer[value] {
		v := new(value)
		q.Push(&rdmap.ReadRequest{}, v)
		return weak.Make(v)
	}()
	goruntime.GC()
	require.NotNil(t, kept.Value(), "outstanding")
	q.Pop()
	goruntime.GC()
	require.Nil(t, kept.Value(), "answered")
	require.False(t, q.Full()) // keeps the queue alive up to here
}

func TestOutboundQueueOfTheLongestRead(t *testing.T) {
	q := rdmap.NewOutboundQueue[int](1)
	q.Push(&rdmap.ReadRequest{SinkTO: math.MaxUint64 - math.MaxUint32, Size: math.MaxUint32}, 0)
	h := ddp.Tagged{TO: math.MaxUint64 - math.MaxUint32}
	_, err := q.Check(&h, math.MaxUint32-1)
	require.NoError(t, err)
	q.Advance(&h, math.MaxUint32-1)
	h.TO += math.MaxUint32 - 1
	_, err = q.Check(&h, 2)
	require.ErrorIs(t, err, ddp.ErrBounds)
	h.Last = true
	offset, err := q.Check(&h, 1)
	require.NoError(t, err)
	require.Equal(t, math.MaxUint32-1, offset)
}

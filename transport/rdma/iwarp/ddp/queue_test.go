package ddp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
)

// segment is a segment that is offered to a queue with a buffer of 100 octets.
type segment struct {
	msn, mo uint32
	payload int
	last    bool
	err     error
	done    int // length of the message if the segment is its last one, or -1
}

func TestQueue(t *testing.T) {
	for name, c := range map[string]struct {
		first    uint32
		segments []segment
	}{
		"messages of one segment": {1, []segment{{1, 0, 10, true, nil, 10}, {2, 0, 0, true, nil, 0}, {3, 0, 100, true, nil, 100}}},
		"a message of three":      {1, []segment{{1, 0, 40, false, nil, -1}, {1, 40, 40, false, nil, -1}, {1, 80, 20, true, nil, 100}, {2, 0, 1, true, nil, 1}}},
		"empty segments between":  {1, []segment{{1, 0, 0, false, nil, -1}, {1, 0, 4, false, nil, -1}, {1, 4, 0, true, nil, 4}}},
		"wrap":                    {math.MaxUint32, []segment{{math.MaxUint32, 0, 1, true, nil, 1}, {0, 0, 1, true, nil, 1}, {1, 0, 1, true, nil, 1}}},
		"duplicate":               {1, []segment{{1, 0, 1, true, nil, 1}, {1, 0, 1, true, ddp.ErrSequence, 0}}},
		"skip":                    {1, []segment{{2, 0, 1, true, ddp.ErrSequence, 0}}},
		"zero":                    {1, []segment{{0, 0, 1, true, ddp.ErrSequence, 0}}},
		"next before last":        {1, []segment{{1, 0, 4, false, nil, -1}, {2, 0, 4, true, ddp.ErrSequence, 0}}},
		"gap":                     {1, []segment{{1, 0, 4, false, nil, -1}, {1, 5, 4, true, ddp.ErrOffset, 0}}},
		"overlap":                 {1, []segment{{1, 0, 4, false, nil, -1}, {1, 3, 4, true, ddp.ErrOffset, 0}}},
		"starts within":           {1, []segment{{1, 4, 4, true, ddp.ErrOffset, 0}}},
		"too long at once":        {1, []segment{{1, 0, 101, true, ddp.ErrTooLong, 0}}},
		"too long at last":        {1, []segment{{1, 0, 60, false, nil, -1}, {1, 60, 41, true, ddp.ErrTooLong, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := ddp.NewQueue(c.first)
			for i, s := range c.segments {
				h := ddp.Untagged{Last: s.last, MSN: s.msn, MO: s.mo}
				before := q
				require.Equal(t, s.err, q.Check(&h, s.payload, 100), "segment %d", i)
				require.Equal(t, before, q, "a check changes nothing")
				if s.err != nil {
					return
				}
				n, done := q.Advance(&h, s.payload)
				require.Equal(t, s.done >= 0, done, "segment %d", i)
				require.Equal(t, !done, q.Open())
				if done {
					require.Equal(t, s.done, n)
					require.Equal(t, s.msn+1, q.MSN())
				}
			}
		})
	}
}

// TestQueuePass checks that Pass has the same effect as Advance with a message of one segment.
func TestQueuePass(t *testing.T) {
	short, long := ddp.NewQueue(math.MaxUint32-2), ddp.NewQueue(math.MaxUint32-2)
	for msn := uint32(math.MaxUint32 - 2); msn != 3; msn++ {
		require.False(t, short.Awaits(msn-1))
		require.False(t, short.Awaits(msn+1))
		require.True(t, short.Awaits(msn))
		short.Pass()
		_, last := long.Advance(&ddp.Untagged{MSN: msn, Last: true}, 5)
		require.True(t, last)
		require.Equal(t, long, short)
	}
	short.Advance(&ddp.Untagged{MSN: 3}, 0)
	require.False(t, short.Awaits(3), "its first segment has come, and was empty")
}

func TestQueueNearFourGibibytes(t *testing.T) {
	q := ddp.NewQueue(1)
	room := math.MaxInt64
	h := ddp.Untagged{MSN: 1}
	require.NoError(t, q.Check(&h, math.MaxUint32, room))
	q.Advance(&h, math.MaxUint32)
	h.MO = math.MaxUint32
	require.ErrorIs(t, q.Check(&h, 1, math.MaxUint32), ddp.ErrTooLong)
	require.NoError(t, q.Check(&h, 1, room))
	q.Advance(&h, 1)
	require.ErrorIs(t, q.Check(&ddp.Untagged{MSN: 1, MO: math.MaxUint32}, 1, room), ddp.ErrOffset)
}

// FuzzQueue offers arbitrary segments. It checks that accepted segments lie within the buffer and follow each
// other without a gap.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{1, 0, 10, 1, 2, 0, 5, 0, 2, 5, 5, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		const room = 64
		q := ddp.NewQueue(1)
		msn, filled := uint32(1), 0
		for ; len(script) >= 4; script = script[4:] {
			h := ddp.Untagged{MSN: uint32(script[0]), MO: uint32(script[1]), Last: script[3]&1 != 0}
			payload := int(script[2])
			if q.Check(&h, payload, room) != nil {
				continue
			}
			require.Equal(t, msn, h.MSN)
			require.Equal(t, filled, int(h.MO))
			filled += payload
			require.LessOrEqual(t, filled, room)
			n, done := q.Advance(&h, payload)
			require.Equal(t, filled, n)
			if done {
				msn, filled = msn+1, 0
			}
		}
	})
}

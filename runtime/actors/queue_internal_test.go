package actors

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQueueKeepsOrder checks that items are taken in the order in which they were pushed, for
// bursts of several lengths. A piece that a queue has returned to the pool must no longer be part of
// that queue, because another queue may use it.
func TestQueueKeepsOrder(t *testing.T) {
	for _, burst := range []int{1, 3, pieceOwn, pieceOwn + 1, pieceWhole, 5 * pieceWhole} {
		rng := rand.New(rand.NewPCG(1, uint64(burst)))
		var queues [2]queue
		var expected [2][]uint32 // the expected contents, as a slice
		next := uint32(0)
		for range 300 {
			which := rng.IntN(2)
			q := &queues[which]
			var several []item
			for range rng.IntN(burst + 1) {
				next++
				expected[which] = append(expected[which], next)
				several = append(several, item{cost: next})
			}
			if rng.IntN(2) == 0 {
				q.pushAll(several)
			} else {
				for _, i := range several {
					q.push(i)
				}
			}
			require.Equal(t, len(expected[which]) == 0, q.empty())
			for range rng.IntN(8) {
				piece := q.take()
				require.Equal(t, len(expected[which]) > 0, len(piece) > 0)
				for _, i := range piece {
					require.Equal(t, expected[which][0], i.cost)
					expected[which] = expected[which][1:]
				}
				clear(piece)
				q.giveBack(piece)
			}
		}
		pushed := queues[0].pushed + queues[1].pushed
		require.Equal(t, uint64(next), pushed)
	}
}

// TestQueueGivesRoomBack checks that an empty queue that has held many items keeps room for
// only a few items.
func TestQueueGivesRoomBack(t *testing.T) {
	var q queue
	q.pushAll(make([]item, 20*pieceWhole))
	for !q.empty() {
		q.giveBack(q.take())
	}
	require.LessOrEqual(t, cap(q.last)+cap(q.spare)+cap(q.full), 2*pieceOwn)
}

// TestMailboxLines checks the cache lines of a mailbox. A sender must not write a line that the
// goroutine of the actor writes. Nor may a sender write a line that both goroutines read for every
// message.
func TestMailboxLines(t *testing.T) {
	const line = 64
	at := func(name string) uintptr {
		f, ok := reflect.TypeFor[mailbox]().FieldByName(name)
		require.True(t, ok, name)
		return f.Offset / line
	}
	require.Less(t, at("overflow"), at("mu"))
	require.Less(t, at("limit"), at("taken"))
	require.Equal(t, at("taken"), at("lent"))
	// Go aligns an object to a cache line if its size is a whole number of cache lines and at most
	// 512 bytes.
	size := reflect.TypeFor[mailbox]().Size()
	require.Zero(t, size%line)
	require.LessOrEqual(t, size, uintptr(512))
}

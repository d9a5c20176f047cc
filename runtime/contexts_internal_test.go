package runtime

import (
	"os"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// quiet is passed to recycle where the engine has nothing to discard.
func quiet([]uint32) {}

// A number can be claimed by one agreement only. It is free again after its release, but not after
// a failed agreement.
func TestNumbersAreClaimedOnce(t *testing.T) {
	var s comms
	require.True(t, s.claim(0))
	require.False(t, s.claim(0))
	require.True(t, s.claim(3))
	require.False(t, s.claim(3))
	require.EqualValues(t, 1, s.propose(0).lowest)
	require.EqualValues(t, 4, s.propose(3).lowest)
	s.release(3)
	require.True(t, s.claim(3))
	s.abandon(3)
	require.False(t, s.claim(3))
	require.Empty(t, s.claimed[3])
}

// The number of a communicator becomes free when this rank and all other members have closed it, in
// any order, and not earlier. Notices of ranks that are not members, and repeated notices, do not
// count.
func TestNumberIsFreeWhenAllHaveClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		early  []int // members whose notice arrives before the communicator is created here
		before []int // members whose notice arrives before this rank closes it
		after  []int
		free   bool
	}{
		{"all, later", nil, nil, []int{2, 7}, true},
		{"all, before", nil, []int{7, 2}, nil, true},
		{"all, while it was made", []int{2, 7}, nil, nil, true},
		{"each at another time", []int{2}, []int{7}, nil, true},
		{"none", nil, nil, nil, false},
		{"one is missing", []int{2}, nil, nil, false},
		{"one says so three times", []int{7}, []int{7}, []int{7}, false},
		{"a stranger for another one", []int{3}, []int{3}, []int{3, 2}, false},
		{"this rank, by a forged notice", nil, []int{5, 5}, []int{2, 5}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &World{}
			w.job.Rank = 5
			require.True(t, w.comms.claim(1))
			say := func(ranks []int) {
				for _, rank := range ranks {
					w.comms.departed(1, rank)
					w.comms.recycle(quiet)
					require.False(t, w.comms.claim(1))
				}
			}
			say(c.early)
			comm := newComm(w, 1, "test", []int{2, 5, 7}, 1)
			say(c.before)
			require.Len(t, w.comms.all(), 1)
			w.comms.close(comm.core)
			require.Empty(t, w.comms.all())
			for _, rank := range c.after {
				w.comms.departed(1, rank)
			}
			require.False(t, w.comms.claim(1), "before it is recycled")
			forgotten := 0
			w.comms.recycle(func(list []uint32) { forgotten = len(list) })
			require.Equal(t, c.free, w.comms.claim(1))
			require.Equal(t, c.free, forgotten == 1)
		})
	}
}

// Notices about a number that no agreement has claimed are not stored. Repeated notices about a
// claimed number are stored once.
func TestNoticesOfStrangersAreNotKept(t *testing.T) {
	var w World
	w.comms.departed(4, 2)
	require.Nil(t, w.comms.findBroken(9, 0, 2, &BrokenError{}))
	require.Empty(t, w.comms.claimed)
	require.True(t, w.comms.claim(4))
	for range 100 {
		w.comms.departed(4, 2)
		w.comms.findBroken(4, 0, 2, &BrokenError{})
	}
	require.Len(t, w.comms.claimed[4], 2)
}

// Communicators that are created and closed, a million of them with GORUN_SOAK=1, leave no memory
// behind. Their numbers do not grow, although messages are left unreceived.
func TestManyCommunicators(t *testing.T) {
	const ranks, some = 3, 2000
	rounds := some
	if os.Getenv("GORUN_SOAK") == "1" {
		rounds = 1_000_000
	}
	require.NoError(t, Local(ranks, func(w *World) error {
		c := w.Comm()
		highest, before := uint32(0), uint64(0)
		for i := range rounds {
			color := 0
			if i%4 == 1 && w.Rank() == i%ranks {
				color = Undefined
			}
			dup, err := c.Split(color, 0)
			if err == nil && dup == nil {
				continue
			}
			if err != nil {
				return err
			}
			highest = max(highest, dup.core.number)
			if i%8 == 0 { // no rank receives this message
				if err := Send(dup, []byte("left "+strconv.Itoa(i)), (w.Rank()+1)%ranks, i%TagMax); err != nil {
					return err
				}
			}
			if err := dup.Close(); err != nil {
				return err
			}
			if i == some/2 {
				before = heap()
			}
		}
		require.Less(t, highest, uint32(8*untoldMost))
		require.LessOrEqual(t, len(w.comms.taken.words), 8)
		if err := meet(w); err != nil {
			return err
		}
		if w.Rank() == 0 {
			require.Less(t, heap(), before+1<<20)
		}
		return meet(w)
	}))
}

// heap returns the number of reachable bytes on the heap.
func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

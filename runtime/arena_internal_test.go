package runtime

import (
	"errors"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// leases is how many leases of its arena a rank has out, after a look for those
// that nobody uses any more.
func leases(w *World) int {
	w.memory.sweep()
	return w.memory.arena.Stats().Leases()
}

// meet returns when all ranks have called it. It leaves no memory behind.
func meet(w *World) error {
	a := agreement{comm: w.comm, ranks: w.comm.members(), rank: w.Rank(), tag: tagShared}
	_, err := a.allgather([]uint64{0})
	return err
}

func TestMemoryComesHome(t *testing.T) {
	require.NoError(t, Local(3, func(w *World) error {
		c := w.Comm()
		right, left := (c.Rank()+1)%3, (c.Rank()+2)%3
		for round := range 50 {
			b, err := Alloc[byte](w, 1<<(round%20))
			if err != nil {
				return err
			}
			if err := SendBuffer[byte](c, b, right, 0); err != nil {
				return err
			}
			m, err := RecvMessage(c, left, 0)
			if err != nil {
				return err
			}
			if round%2 == 0 {
				m.Release()
			} else if err := SendBuffer[byte](c, m.Buffer(), left, 1); err != nil {
				return err
			} else if m, err = RecvMessage(c, right, 1); err != nil {
				return err
			} else {
				m.Release()
			}
		}
		// What was released before meets the owner before: one lane per pair. Two
		// rounds reach every pair of three ranks.
		if err := errors.Join(meet(w), meet(w)); err != nil {
			return err
		}
		require.Zero(t, leases(w))
		require.LessOrEqual(t, w.memory.arena.Stats().Grown, 8<<20, "memory is used again")
		return nil
	}))
}

func TestMemoryOfALostHolderComesHome(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		c := w.Comm()
		s, err := NewShared(c, 8)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			m, err := RecvMessage(c, 0, 0)
			require.NoError(t, err)
			require.Len(t, m.Bytes(), 1<<20)
			// Rank 0 gives rank 1 up, though it lives; it says so in a word, for no
			// message of it is heard any more.
			for s.Word(1, 0).Load() == 0 {
				goruntime.Gosched()
			}
			return nil
		}
		b, err := Alloc[byte](w, 1<<20)
		require.NoError(t, err)
		require.NoError(t, SendBuffer[byte](c, b, 1, 0))
		require.Equal(t, 2, leases(w))
		why := errors.New("reaped")
		go w.engine.MarkDown(1, why)
		err = s.Await(c, s.Word(0, 0), 1)
		var lost *PeerError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, 1, lost.Rank)
		require.ErrorIs(t, err, why)
		require.ErrorAs(t, s.Await(c, s.Word(0, 0), 1), &lost, "and the next one too")
		require.Equal(t, 1, leases(w), "what rank 1 held is back")
		s.Word(0, 0).Store(1)
		require.NoError(t, s.Await(c, s.Word(0, 0), 1), "what is there is there")
		s.Word(1, 0).Store(1)
		require.NoError(t, s.Free())
		require.Zero(t, leases(w), "a rank that is down uses nothing")
		return nil
	}))
}

func TestSharedStaysUntilEveryMemberIsGone(t *testing.T) {
	require.NoError(t, Local(3, func(w *World) error {
		s, err := NewShared(w.Comm(), 1000)
		if err != nil {
			return err
		}
		for last := range 3 {
			if w.Rank() == last {
				require.NoError(t, s.Free())
			}
			if err := meet(w); err != nil {
				return err
			}
			want := 1
			if last == 2 {
				want = 0
			}
			require.Equal(t, want, leases(w), "after rank %d was gone", last)
			if err := meet(w); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestRefusedSharedLeavesNothing(t *testing.T) {
	require.NoError(t, Local(2, func(w *World) error {
		_, err := NewShared(w.Comm(), 8*(1+w.Rank()))
		require.ErrorIs(t, err, ErrArgument)
		require.Zero(t, leases(w))
		return nil
	}))
}

// The waiter is proved to sleep before the word changes: it has announced it.
func TestSignalWakesASleeper(t *testing.T) {
	require.NoError(t, Local(3, func(w *World) error {
		c := w.Comm()
		s, err := NewShared(c, 8)
		if err != nil {
			return err
		}
		for round := uint64(1); round <= 20; round++ {
			if w.Rank() == 1 {
				for s.sleepers.Load() != 2 {
					goruntime.Gosched()
				}
				s.Signal(s.Word(2, 0), round)
			}
			if err := s.Await(c, s.Word(2, 0), round); err != nil {
				return err
			}
			if err := meet(w); err != nil {
				return err
			}
			require.Zero(t, s.sleepers.Load())
			require.Zero(t, s.asleep[0].Load())
			if err := meet(w); err != nil {
				return err
			}
		}
		return s.Free()
	}))
}

func TestAwaitAndSignalAllocateNothing(t *testing.T) {
	require.NoError(t, Local(1, func(w *World) error {
		c := w.Comm()
		s, err := NewShared(c, 8)
		require.NoError(t, err)
		word := s.Word(0, 0)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			v := s.SignalAdd(word, 1)
			s.Signal(word, v+1)
			if s.Await(c, word, v+1) != nil {
				t.Error("it is there")
			}
		}))
		return s.Free()
	}))
}

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/runtime"
)

// newShared creates shared memory on the World's communicator.
func newShared(t *testing.T, w *runtime.World, n int) *runtime.Shared {
	t.Helper()
	s, err := runtime.NewShared(w.Comm(), n)
	require.NoError(t, err)
	return s
}

// Every rank sees what the others write to their parts of shared memory.
func TestSharedPartsAreOneMemory(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 70} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			require.NoError(t, runtime.Local(n, func(w *runtime.World) error {
				c := w.Comm()
				s := newShared(t, w, 100)
				defer s.Close()
				for r := range n {
					require.Len(t, s.Part(r), 100)
					require.Equal(t, 100, cap(s.Part(r)), "the control words are not the user's")
				}
				// Every member writes to its own part, and then increments a word in each part.
				mine := runtime.SharedView[uint16](s.Part(c.Rank())[64:])
				require.Len(t, mine, 18)
				mine[17] = uint16(1000 + c.Rank())
				for r := range n {
					s.SignalAdd(s.Word(r, 8), 1)
				}
				if err := s.Await(c, s.Word(c.Rank(), 8), uint64(n)); err != nil {
					return err
				}
				for r := range n {
					require.Equal(t, uint16(1000+r), runtime.SharedView[uint16](s.Part(r)[64:])[17])
				}
				return nil
			}))
		})
	}
}

// Shared memory is zeroed, also where the arena was used before.
func TestSharedBeginsWithZeros(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		b, err := runtime.Alloc[byte](w, 4096)
		require.NoError(t, err)
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xff
		}
		b.Close()
		s := newShared(t, w, 3000)
		require.Equal(t, make([]byte, 3000), s.Part(0))
		return s.Close()
	}))
}

// Shared memory of a communicator has its parts in the order of the communicator's ranks.
func TestSharedOfASplit(t *testing.T) {
	require.NoError(t, runtime.Local(5, func(w *runtime.World) error {
		c, err := w.Comm().Split(w.Rank()%2, -w.Rank())
		if err != nil {
			return err
		}
		s, err := runtime.NewShared(c, 8)
		if err != nil {
			return err
		}
		defer s.Close()
		s.Signal(s.Word(c.Rank(), 0), uint64(100+w.Rank()))
		for r := range c.Size() {
			if err := s.Await(c, s.Word(r, 0), 1); err != nil {
				return err
			}
			require.Equal(t, uint64(100+c.WorldRank(r)), s.Word(r, 0).Load())
		}
		return nil
	}))
}

// Wrong offsets of words, wrong element types and views that are not aligned panic, and a second Close is an error.
func TestSharedWordMisuse(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s := newShared(t, w, 20)
		for _, off := range []int{-8, 4, 16, 24} {
			require.Panics(t, func() { s.Word(0, off) }, "offset %d", off)
		}
		require.Panics(t, func() { runtime.SharedView[*int](s.Part(0)) })
		require.PanicsWithValue(t, "runtime: a SharedView of int32 must begin at an address that is a multiple of 4, but the slice begins 2 bytes after one",
			func() { runtime.SharedView[int32](s.Part(0)[6:]) })
		require.Len(t, runtime.SharedView[int32](s.Part(0)[4:]), 4)
		require.Empty(t, runtime.SharedView[int64](s.Part(0)[20:]))
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.Close(), runtime.ErrArgument)
		return nil
	}))
}

// If NewShared fails at one member because of its size, it fails at all members, and a later call of
// NewShared succeeds.
func TestSharedIsRefusedToAllOrNone(t *testing.T) {
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		for _, size := range []int{8 + w.Rank()/2, -1, 1 << 45 * (w.Rank() / 2)} {
			_, err := runtime.NewShared(w.Comm(), size)
			require.Error(t, err, "rank %d asks for %d", w.Rank(), size)
		}
		s := newShared(t, w, 8)
		return s.Close()
	}))
}

// If members pass different sizes, the error names a member with another size by its world rank, and that size.
func TestSharedNamesTheMemberWithAnotherSize(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		reversed, err := c.Split(0, -c.Rank())
		require.NoError(t, err)
		for _, size := range []int{9, -1} {
			if c.Rank() == 2 {
				_, err = runtime.NewShared(reversed, size)
				require.Error(t, err)
				continue
			}
			_, err = runtime.NewShared(reversed, 8)
			require.ErrorIs(t, err, runtime.ErrArgument)
			require.ErrorContains(t, err, fmt.Sprintf("world rank 2 passed a size of %d bytes", size))
		}
	})
}

// A member whose context.Context has ended gives up in the first round of NewShared, and keeps no memory.
func TestSharedThatFailsKeepsNoMemory(t *testing.T) {
	heap := func() uint64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		const part, rounds = 16 << 20, 10
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		before := heap()
		for range rounds {
			c, err := w.Comm().Dup()
			require.NoError(t, err)
			view := c
			if w.Rank() == 0 {
				view = c.WithContext(ended)
			}
			_, err = runtime.NewShared(view, part)
			require.Error(t, err)
			require.NoError(t, c.Close())
		}
		if w.Rank() == 0 {
			require.Less(t, heap(), before+rounds*part/2)
		}
		return nil
	}))
}

// A barrier made of shared words orders accesses to the parts. The race detector checks the order.
func TestSharedOrdersMemory(t *testing.T) {
	const rounds = 300
	for _, n := range []int{2, 3, 4} {
		require.NoError(t, runtime.Local(n, func(w *runtime.World) error {
			c := w.Comm()
			s := newShared(t, w, 64)
			defer s.Close()
			arrived, mine := s.Word(0, 0), s.Part(c.Rank())[8:]
			for round := uint64(1); round <= rounds; round++ {
				mine[0] = byte(round)
				s.SignalAdd(arrived, 1)
				if err := s.Await(c, arrived, (2*round-1)*uint64(n)); err != nil {
					return err
				}
				for r := range n {
					if s.Part(r)[8] != byte(round) {
						return fmt.Errorf("round %d: part of rank %d holds %d", round, r, s.Part(r)[8])
					}
				}
				s.SignalAdd(arrived, 1)
				if err := s.Await(c, arrived, 2*round*uint64(n)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// Many goroutines of a rank can be in Await at the same time.
func TestAwaitFromManyGoroutines(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		s := newShared(t, w, 64*8)
		defer s.Close()
		var wg sync.WaitGroup
		errs := make([]error, 64)
		for i := range errs {
			wg.Go(func() {
				if c.Rank() == 0 {
					s.Signal(s.Word(0, 8*i), 1)
				}
				errs[i] = s.Await(c, s.Word(0, 8*i), 1)
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}))
}

// If the context.Context of the view ends, Await returns the cause. If the word already has the
// value, Await succeeds.
func TestAwaitEndsWithItsContext(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s := newShared(t, w, 8)
		defer s.Close()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		c := w.Comm().WithContext(ctx)
		go cancel(why)
		err := s.Await(c, s.Word(0, 0), 1)
		require.ErrorIs(t, err, why)
		s.Signal(s.Word(0, 0), 1)
		require.NoError(t, s.Await(c, s.Word(0, 0), 1), "the word already has the value")
		return nil
	}))
}

// Await ends with ErrAborted if another rank fails.
func TestAwaitEndsWithTheJob(t *testing.T) {
	failed := errors.New("rank 1 had enough")
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		s := newShared(t, w, 16)
		if w.Rank() == 1 {
			if err := s.Await(c, s.Word(1, 8), 2); err != nil {
				return err
			}
			return failed
		}
		s.SignalAdd(s.Word(1, 8), 1)
		err := s.Await(c, s.Word(1, 0), 1)
		require.ErrorIs(t, err, runtime.ErrAborted)
		return err
	})
	require.ErrorIs(t, err, failed)
}

// Await ends with ErrCommBroken if another member breaks the communicator.
func TestAwaitEndsWithTheCommunicator(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		require.NoError(t, err)
		s, err := runtime.NewShared(c, 8)
		require.NoError(t, err)
		why := errors.New("mixed up")
		if w.Rank() == 1 {
			c.Break(why)
			return nil
		}
		err = s.Await(c, s.Word(1, 0), 1)
		require.ErrorIs(t, err, runtime.ErrCommBroken)
		return nil
	}))
}

// Comm.Close closes shared memory that is an attribute of the communicator.
func TestSharedFreedByItsCommunicator(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c, err := w.Comm().Dup()
		require.NoError(t, err)
		s, err := c.Attribute(t, func() (any, error) { return runtime.NewShared(c, 8) })
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.Error(t, s.(*runtime.Shared).Close())
		return nil
	}))
}

// NewSharedAmong creates memory of some members. Two disjoint groups call it at the same time, and
// then a group that overlaps with both groups. Wrong lists of ranks are refused.
func TestSharedAmongSomeMembers(t *testing.T) {
	require.NoError(t, runtime.Local(5, func(w *runtime.World) error {
		c := w.Comm()
		require.Equal(t, []int{0, 0, 0, 0, 0}, c.Placement())
		for _, ranks := range [][]int{{0, 2, 4}, {1, 3}, {0, 3}} {
			me := slices.Index(ranks, w.Rank())
			if me < 0 {
				continue
			}
			s, err := runtime.NewSharedAmong(c, ranks, 8)
			if err != nil {
				return err
			}
			next := (me + 1) % len(ranks)
			s.Signal(s.Word(next, 0), uint64(ranks[next]+1))
			own := s.Word(me, 0)
			if err := s.Await(c, own, 1); err != nil {
				return err
			}
			if own.Load() != uint64(w.Rank()+1) {
				return fmt.Errorf("rank %d has %d", w.Rank(), own.Load())
			}
			if err := s.Close(); err != nil {
				return err
			}
		}
		for _, ranks := range [][]int{nil, {(w.Rank() + 1) % 5}, {w.Rank(), 5}, {w.Rank(), w.Rank()}} {
			_, err := runtime.NewSharedAmong(c, ranks, 8)
			require.ErrorIs(t, err, runtime.ErrRank)
		}
		return nil
	}))
}

// The error of a collective operation that makes shared memory and loses a member names the lost rank. It does not
// name NewSharedAmong, because package collectives, and not the program, calls that function.
func TestSharedWithALostMember(t *testing.T) {
	killed, began := errors.New("killed"), make(chan struct{})
	var job localjob.Job
	job, err := localjob.Start(localjob.Config{Ranks: 3, Main: func(world any) error {
		w := world.(*runtime.World)
		<-began
		if w.Rank() == 2 {
			require.True(t, job.Kill(2, killed))
			return nil
		}
		_, err := runtime.NewSharedAmong(w.Comm(), []int{0, 1, 2}, 8)
		var lost *runtime.PeerError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, 2, lost.Rank)
		require.Regexp(t, `new shared memory( on world: |: communicator world was broken by rank [01]: new shared memory: )`, err.Error())
		require.NotContains(t, err.Error(), "NewShared")
		return nil
	}})
	require.NoError(t, err)
	close(began)
	require.NoError(t, job.Wait(t.Context()))
}

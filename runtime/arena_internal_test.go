package runtime

import (
	"context"
	"errors"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// mapped is like Local, except that the ranks have the node memory of processes: a memfd that every
// rank maps for itself.
func mapped(t *testing.T, n int, fn func(*World) error) error {
	t.Helper()
	const rangeBytes = 256 << 20
	fd, err := unix.MemfdCreate("gorun-test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Ftruncate(fd, int64(n)*rangeBytes))
	job := &localJob{worlds: make([]*World, n), over: make(chan struct{})}
	var ranks sync.WaitGroup
	for rank := range n {
		node, err := shm.OpenNode(fd, n, rangeBytes)
		require.NoError(t, err)
		defer func() { require.NoError(t, node.Close()) }()
		job.worlds[rank], err = job.join(node, rank)
		require.NoError(t, err)
	}
	for _, w := range job.worlds {
		ranks.Go(func() { job.run(w, fn) })
	}
	ranks.Wait()
	return job.close()
}

// everywhere runs fn over both kinds of node memory: on the heap, and in a memfd.
func everywhere(t *testing.T, n int, fn func(*World) error) {
	t.Helper()
	require.NoError(t, Local(n, fn), "on the heap")
	require.NoError(t, mapped(t, n, fn), "in a memfd")
}

// leases returns the number of leases of a rank's arena. Before it counts them, it frees the parts of
// Shareds that no member uses any more.
func leases(w *World) int {
	w.memory.sweep()
	return w.memory.arena.Stats().Leases()
}

// meet is a barrier that leaves no allocated memory behind.
func meet(w *World) error {
	a := agreement{comm: w.comm, ranks: w.comm.members(), rank: w.Rank(), tag: tagShared}
	_, err := a.allgather([]uint64{0})
	return err
}

// Buffers that are sent, forwarded and returned in many rounds leave no lease at the end, and their
// memory is used again.
func TestMemoryComesHome(t *testing.T) {
	everywhere(t, 3, func(w *World) error {
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
				m.Close()
			} else if err := SendBuffer[byte](c, m.Buffer(), left, 1); err != nil {
				return err
			} else if m, err = RecvMessage(c, right, 1); err != nil {
				return err
			} else {
				m.Close()
			}
		}
		// Each pair of ranks has one lane, so a release arrives before the messages that its sender
		// sends later. Two calls of meet exchange a message between every pair of three ranks.
		if err := errors.Join(meet(w), meet(w)); err != nil {
			return err
		}
		require.Zero(t, leases(w))
		require.LessOrEqual(t, w.memory.arena.Stats().Grown, 8<<20, "memory is used again")
		return nil
	})
}

// holdAfterLoss receives a Buffer of 1 MiB from rank 0. Then rank 0 declares this rank lost although this rank lives.
// From then on, no message of rank 0 arrives here. holdAfterLoss returns when rank 0 has set the first word of rank 1.
func holdAfterLoss(t *testing.T, c *Comm, s *Shared) {
	t.Helper()
	m, err := RecvMessage(c, 0, 0)
	require.NoError(t, err)
	require.Len(t, m.Bytes(), 1<<20)
	for s.Word(1, 0).Load() == 0 {
		goruntime.Gosched()
	}
}

// When a rank is declared lost because its process has ended, its peer gets back the Buffer that the lost rank held.
// Await of a word that does not have the awaited value ends with a PeerError. If the word has the value, Await
// succeeds.
func TestMemoryOfALostHolderComesHome(t *testing.T) {
	everywhere(t, 2, func(w *World) error {
		c := w.Comm()
		s, err := NewShared(c, 8)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			holdAfterLoss(t, c, s)
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
		require.ErrorAs(t, s.Await(c, s.Word(0, 0), 1), &lost, "a second Await fails, too")
		require.Equal(t, 1, leases(w), "the lease that rank 1 held was returned")
		s.Word(0, 0).Store(1)
		require.NoError(t, s.Await(c, s.Word(0, 0), 1), "the word already has the value")
		s.Word(1, 0).Store(1)
		require.NoError(t, s.Close())
		require.Zero(t, leases(w), "a rank that is down holds no lease")
		return nil
	})
}

// A rank that was declared lost because it damaged shared memory may live. It keeps the Buffer that it holds, and the
// parts of Shareds that it uses, until the launcher reports that its process has ended.
func TestLostHolderKeepsItsMemoryWhileItMayLive(t *testing.T) {
	for _, why := range []error{transport.ErrDamaged, engine.ErrProtocol} {
		everywhere(t, 2, func(w *World) error {
			c := w.Comm()
			s, err := NewShared(c, 8)
			if err != nil {
				return err
			}
			if w.Rank() == 1 {
				holdAfterLoss(t, c, s)
				return nil
			}
			b, err := Alloc[byte](w, 1<<20)
			require.NoError(t, err)
			require.NoError(t, SendBuffer[byte](c, b, 1, 0))
			go w.engine.GiveUp(1, why)
			require.ErrorIs(t, s.Await(c, s.Word(0, 0), 1), why)
			s.Word(1, 0).Store(1)
			require.NoError(t, s.Close())
			require.Equal(t, 2, leases(w))
			w.notice(bootstrap.Notice{Kind: bootstrap.PeerDown, Rank: 1, Cause: "killed"})
			require.Zero(t, leases(w))
			return nil
		})
	}
}

// Shared memory keeps its lease until every member has closed it.
func TestSharedStaysUntilEveryMemberIsGone(t *testing.T) {
	everywhere(t, 3, func(w *World) error {
		s, err := NewShared(w.Comm(), 1000)
		if err != nil {
			return err
		}
		for last := range 3 {
			if w.Rank() == last {
				require.NoError(t, s.Close())
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
	})
}

// A NewShared that is refused because the sizes differ leaves no lease.
func TestRefusedSharedLeavesNothing(t *testing.T) {
	everywhere(t, 2, func(w *World) error {
		_, err := NewShared(w.Comm(), 8*(1+w.Rank()))
		require.ErrorIs(t, err, ErrArgument)
		require.Zero(t, leases(w))
		return nil
	})
}

// Signal wakes a rank that sleeps in Await. The word changes only after both waiting ranks have
// announced that they sleep.
func TestSignalWakesASleeper(t *testing.T) {
	everywhere(t, 3, func(w *World) error {
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
		return s.Close()
	})
}

// Signal, SignalAdd and an Await that need not wait allocate nothing.
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
		return s.Close()
	}))
}

// A Buffer is handed over without a copy although the receiver maps the memory at another address.
// The proof is that the message is at the address at which the receiver maps the sender's memory.
func TestHandoverBetweenMappings(t *testing.T) {
	const n = 32 << 20
	offsets := make(chan int, 1)
	require.NoError(t, mapped(t, 2, func(w *World) error {
		c := w.Comm()
		if w.Rank() == 0 {
			b, err := Alloc[byte](w, n)
			if err != nil {
				return err
			}
			b.Bytes()[n-1] = 17
			offsets <- b.lease.Off
			if err := SendBuffer[byte](c, b, 1, 0); err != nil {
				return err
			}
			return meet(w)
		}
		m, err := RecvMessage(c, 0, 0)
		if err != nil {
			return err
		}
		theirs, err := w.shm.Shared(0, w.shm.Arena().Key(<-offsets), n)
		require.NoError(t, err)
		require.Same(t, &theirs[0], &m.Bytes()[0])
		require.Equal(t, byte(17), m.Bytes()[n-1])
		m.Close()
		return meet(w)
	}))
}

// faults reports whether a read of b causes a page fault.
func faults(b []byte) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { yes = recover() != nil }()
	sink.Store(uint32(b[0]))
	return false
}

// sink keeps the compiler from removing the load.
var sink atomic.Uint32

// With GORUN_DEBUG, access to a Buffer that was sent or closed faults, and access by its holder
// does not.
func TestDebugFaultsOnUseAfterTheEnd(t *testing.T) {
	t.Setenv(envDebug, "1")
	require.NoError(t, mapped(t, 2, func(w *World) error {
		c := w.Comm()
		if w.Rank() == 1 {
			m, err := RecvMessage(c, 0, 0)
			if err != nil {
				return err
			}
			require.False(t, faults(m.Bytes()), "it is the receiver's")
			m.Close()
			return meet(w)
		}
		sent, err := Alloc[byte](w, 100)
		require.NoError(t, err)
		kept, err := Alloc[byte](w, 100)
		require.NoError(t, err)
		stale := sent.Bytes()
		require.False(t, faults(stale))
		require.NoError(t, SendBuffer[byte](c, sent, 1, 0))
		require.True(t, faults(stale), "given away")
		if err := meet(w); err != nil {
			return err
		}
		require.True(t, faults(stale), "returned")
		require.False(t, faults(kept.Bytes()))
		stale = kept.Bytes()
		kept.Close()
		require.True(t, faults(stale), "released")
		again, err := Alloc[byte](w, 100)
		require.NoError(t, err)
		require.False(t, faults(again.Bytes()))
		again.Close()
		return nil
	}))
}

// A SendBuffer that fails leaves the Buffer to its caller, who can write to it, send it again and
// release it.
func TestFailedSendBufferTakesItsMemoryBack(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	everywhere(t, 2, func(w *World) error {
		c := w.Comm()
		if c.Rank() == 1 {
			m, err := RecvMessage(c, 0, 1)
			if err != nil {
				return err
			}
			require.Equal(t, []byte{0, 1, 2}, m.Bytes())
			m.Close()
			return meet(w)
		}
		for i := range 3 {
			b, err := Alloc[byte](w, 3)
			require.NoError(t, err)
			require.ErrorIs(t, SendBuffer[byte](c.WithContext(ended), b, 1, 1), context.Canceled)
			copy(b.Bytes(), []byte{0, 1, 2})
			stats := w.memory.arena.Stats()
			require.Equal(t, [2]int{1, 0}, [2]int{stats.Own, stats.Given})
			if i == 1 {
				require.NoError(t, SendBuffer[byte](c, b, 1, 1))
				require.NoError(t, meet(w), "it is released there")
			}
			b.Close()
			require.Zero(t, leases(w))
		}
		return nil
	})
}

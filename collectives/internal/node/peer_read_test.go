package node_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// readerFunc is a node.Reader whose Read is the function.
type readerFunc func(p node.Process, addr uint64, dst []byte) error

func (readerFunc) Process() uint64 { return 1 }

func (f readerFunc) Read(p node.Process, addr uint64, dst []byte) error { return f(p, addr, dst) }

// each runs fn as every member of a group, each with a reader of its own, and returns the errors
// of fn. The error of one member does not end the group for the others.
func each(t *testing.T, room *room, readers []node.Reader, fn func(rank int, g *node.Group) error) []error {
	t.Helper()
	errs := make([]error, len(readers))
	var wg sync.WaitGroup
	for rank, r := range readers {
		wg.Go(func() {
			g, err := node.New(node.Config{Rank: rank, Size: len(readers), Reader: r, Open: room.opener()})
			if err == nil {
				err = fn(rank, g)
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	return errs
}

// TestMembersAgreeWhoCanPull checks that all members get a negative answer if one of them cannot
// read or cannot be read.
func TestMembersAgreeWhoCanPull(t *testing.T) {
	own := ownMemory{}
	for name, tc := range map[string]struct {
		odd  node.Reader
		want bool
	}{
		"all can":          {own, true},
		"none there":       {nil, false},
		"refused":          {readerFunc(func(_ node.Process, _ uint64, _ []byte) error { return errors.New("not permitted") }), false},
		"no process there": {readerFunc(func(node.Process, uint64, []byte) error { return syscall.ESRCH }), false},
	} {
		for odd := range 3 {
			readers := []node.Reader{own, own, own}
			readers[odd] = tc.odd
			errs := each(t, newRoom(3), readers, func(_ int, g *node.Group) error {
				for range 2 {
					if ok, err := g.CanPull(); err != nil || ok != tc.want {
						return errors.Join(errors.New("wrong verdict"), err)
					}
				}
				return g.BarrierCounter() // the group still works
			})
			require.NoError(t, errors.Join(errs...), name)
		}
	}
}

// TestPeerReadThatIsRevoked checks that a read fails if the owner of the memory gave up during the
// read, because the owner may have changed the memory meanwhile. The read returns the error of a wait for the owner,
// because this error names the cause.
func TestPeerReadThatIsRevoked(t *testing.T) {
	room, returned := newRoom(2), make(chan struct{})
	own, reads := ownMemory{}, 0
	late := readerFunc(func(p node.Process, addr uint64, dst []byte) error {
		if reads++; reads == 2 { // the first read is the probe of CanPull
			room.leave()
			<-returned
		}
		return own.Read(p, addr, dst)
	})
	errs := each(t, room, []node.Reader{own, late}, func(rank int, g *node.Group) error {
		send, recv := make([]byte, 64), make([]byte, 64)
		err := pull(g, send, recv)
		if rank == 0 {
			copy(send, "changed")
			close(returned)
		}
		return err
	})
	require.ErrorIs(t, errs[0], errGone)
	require.ErrorIs(t, errs[1], errGone)
}

// TestReadThatFailsLater checks that a failed read ends the operation with the cause. If the
// process of the member has ended, the operation ends with the error of waiting for this member.
func TestReadThatFailsLater(t *testing.T) {
	refused := errors.New("refused")
	for failure, want := range map[error]error{refused: refused, syscall.ESRCH: errGone} {
		room, reads := newRoom(2), 0
		failing := readerFunc(func(p node.Process, addr uint64, dst []byte) error {
			if reads++; reads == 2 {
				room.leave()
				return fmt.Errorf("read: %w", failure)
			}
			return ownMemory{}.Read(p, addr, dst)
		})
		errs := each(t, room, []node.Reader{ownMemory{}, failing}, func(_ int, g *node.Group) error {
			return pull(g, make([]byte, 64), make([]byte, 64))
		})
		require.Error(t, errs[0])
		require.ErrorIs(t, errs[1], want)
	}
}

// TestProcessesAreKnownByTheirWords checks that a member reads from the process that it identified
// first, even if the shared memory names another process or another cookie later. The cookie, the word
// that identifies a process, must stay at its address.
func TestProcessesAreKnownByTheirWords(t *testing.T) {
	room := newRoom(2)
	var known []node.Process
	listening := readerFunc(func(p node.Process, addr uint64, dst []byte) error {
		known = append(known, p)
		return ownMemory{}.Read(known[0], addr, dst)
	})
	errs := each(t, room, []node.Reader{ownMemory{}, listening}, func(rank int, g *node.Group) error {
		for range 3 {
			if err := pull(g, make([]byte, 64), make([]byte, 64)); err != nil {
				return err
			}
			goruntime.GC()
			if rank == 1 {
				room.mu.Lock()
				theirs := room.memories[len(room.memories)-1].parts[0]
				room.mu.Unlock()
				// These words contain the ID of the process, its cookie, and the cookie's address.
				for _, off := range []int{8, 136, 144} {
					wordOf(theirs, off).Store(7)
				}
			}
		}
		return nil
	})
	require.NoError(t, errors.Join(errs...))
	require.Len(t, known, 4)
	for _, p := range known {
		require.Equal(t, known[0], p)
		require.NotZero(t, p.Cookie)
	}
}

// TestPullTellsWhatIsCopied checks that Config.Note is called for both the source and the
// destination of a copy.
func TestPullTellsWhatIsCopied(t *testing.T) {
	var mu sync.Mutex
	told := map[*byte]int{}
	note := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		told[&b[0]] = len(b)
	}
	want := map[*byte]int{}
	run(t, node.Config{Size: 2, Note: note}, func(_ int, g *node.Group) error {
		send, recv := make([]byte, 200), make([]byte, 200)
		mu.Lock()
		want[&send[0]], want[&recv[0]] = len(send), len(recv)
		mu.Unlock()
		if _, err := g.CanPull(); err != nil {
			return err
		}
		return g.AllToAllPull(send, recv)
	})
	require.Equal(t, want, told)
}

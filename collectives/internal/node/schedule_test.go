package node_test

import (
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/node"
)

// schedule makes one member of a group, the sleeper, pause after one of its looks. A look is one call
// of Memory.Signal or Memory.Await. The pause ends when no other member can continue.
type schedule struct {
	mu      sync.Mutex
	members []progress
	sleeper int // the rank of the member that pauses
	at      int // the number of the look after which it pauses
}

// progress is the state of a member.
type progress struct {
	looks int
	ended bool
	// word is the word whose value v the member waits for. It is nil while the member runs.
	word *node.Word
	v    uint64
}

// stuck reports whether every member except the sleeper has ended or waits for a value that its
// word does not have yet.
func (s *schedule) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rank, m := range s.members {
		if rank != s.sleeper && !m.ended && (m.word == nil || m.word.Load() >= m.v) {
			return false
		}
	}
	return true
}

// look counts a look of a member. The sleeper pauses after the chosen look.
func (s *schedule) look(rank int) {
	s.mu.Lock()
	m := &s.members[rank]
	m.word = nil
	m.looks++
	pause := rank == s.sleeper && m.looks == s.at
	s.mu.Unlock()
	for pause && !s.stuck() {
		goruntime.Gosched()
	}
}

func (s *schedule) change(rank int, f func(m *progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.members[rank])
}

// watched is the memory of a member of a schedule.
type watched struct {
	node.Memory
	s    *schedule
	rank int
}

// Signal holds the lock of the schedule while it changes the word, so that no word changes while
// stuck inspects the members.
func (w watched) Signal(word *node.Word, v uint64) {
	w.s.change(w.rank, func(*progress) { w.Memory.Signal(word, v) })
	w.s.look(w.rank)
}

func (w watched) Await(word *node.Word, v uint64) error {
	w.s.change(w.rank, func(m *progress) { m.word, m.v = word, v })
	err := w.Memory.Await(word, v)
	w.s.look(w.rank)
	return err
}

// perform runs fn as every member and returns the number of looks of the sleeper.
func (s *schedule) perform(t *testing.T, c node.Config, fn func(rank int, g *node.Group) error) int {
	t.Helper()
	room, errs := newRoom(c.Size), make([]error, c.Size)
	s.members = make([]progress, c.Size)
	var wg sync.WaitGroup
	for rank := range c.Size {
		wg.Go(func() {
			c, open := c, room.opener()
			c.Rank, c.Reader = rank, ownMemory{}
			c.Open = func(bytes int) (node.Memory, error) {
				m, err := open(bytes)
				return watched{m, s, rank}, err
			}
			g, err := node.New(c)
			if err == nil {
				peers.Store(g, room.peer(rank, watched{&heap{room: room}, s, rank}))
				defer peers.Delete(g)
				g.NoSpin()
				err = fn(rank, g)
			}
			if errs[rank] = err; err != nil {
				room.leave()
			}
			s.change(rank, func(m *progress) { m.ended = true })
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...), "member %d paused after %d looks", s.sleeper, s.at)
	return s.members[s.sleeper].looks
}

// slotCount is the number of slots in tests that use every slot more than once.
const slotCount = 4

// TestMemberThatPausesAnywhere checks that a member that pauses at any point can still read its data
// when it continues: the other members have not overwritten the data. For this test, every operation uses
// its slots or segments more than once. Each member in turn pauses after each of its looks.
func TestMemberThatPausesAnywhere(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			for _, crowded := range []bool{false, true} {
				for _, size := range []int{2, 3} {
					for sleeper := range size {
						pauseEverywhere(t, op, node.Config{Size: size, Crowded: crowded, Segment: 256, Slots: slotCount}, sleeper)
					}
				}
			}
		})
	}
}

func pauseEverywhere(t *testing.T, op operation, c node.Config, sleeper int) {
	t.Helper()
	for at, looks := 1, 1; at <= looks; at += stride {
		s := &schedule{sleeper: sleeper, at: at}
		looks = s.perform(t, c, func(rank int, g *node.Group) error {
			for round := range 2*slotCount + 2 {
				c := call{round, c.Size, 3, round / slotCount % c.Size}
				if long := (call{round, c.size, 150, c.root}); round == slotCount/2 && op.fits(g, long) {
					c = long // several segments of a large operation
				}
				if !op.fits(g, c) {
					return nil
				}
				if err := perform(g, rank, op, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestMemberThatPausesBeforeBroadcasts is TestMemberThatPausesAnywhere for operations in which every member waits for
// every other member, followed by broadcasts. Such an operation stores no word at its end, because its slots are
// reused only after the next operation has begun.
func TestMemberThatPausesBeforeBroadcasts(t *testing.T) {
	named := func(name string) operation {
		return operations[slices.IndexFunc(operations, func(o operation) bool { return o.name == name })]
	}
	for _, first := range []string{"allreduce exchange", "allreduce counter", "allgather small", "alltoall small"} {
		for _, crowded := range []bool{false, true} {
			for sleeper := range 3 {
				for at, looks := 1, 1; at <= looks; at += stride {
					s := &schedule{sleeper: sleeper, at: at}
					looks = s.perform(t, node.Config{Size: 3, Crowded: crowded, Slots: slotCount}, func(rank int, g *node.Group) error {
						for round := range 2 * (slotCount + 1) {
							op, c := named("bcast small"), call{round, 3, 3, (sleeper + 1) % 3}
							if round%(slotCount+1) == 0 {
								op = named(first)
							}
							if err := perform(g, rank, op, c); err != nil {
								return err
							}
						}
						return nil
					})
				}
			}
		}
	}
}

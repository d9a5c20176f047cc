package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Collectives is a program of blocking and nonblocking collective operations on the communicator of the World
// and on a part of it. Between these operations, the ranks send messages.
func Collectives() simulate.Program {
	return simulate.Program{Name: "collectives", Ranks: []int{1, 2, 3, 4, 5, 7, 8}, Main: collective}
}

// BrokenCollectives is the program Collectives with the death of a rank. Every other rank must end. If one of
// its operations fails, the error must name the dead rank or be ErrCommBroken.
func BrokenCollectives() simulate.Program {
	return simulate.Program{Name: "broken-collectives", Ranks: []int{2, 3, 5, 8}, Mortal: true, Main: collective}
}

// Numbers of streams of random numbers. In the streams from streamMembers on, all members of a communicator
// draw the same numbers. In the streams from streamOwn on, each rank draws its own numbers.
const (
	streamSteps = 5000 + iota
	streamMembers
	streamOwn = 6000
)

// member is one rank in a communicator of the program.
type member struct {
	comm   *runtime.Comm
	random *rand.Rand // the same at all members
	own    *rand.Rand // differs from rank to rank
	// world has the ranks of the members in the World.
	world []int
	step  int
	open  []pending
}

// called is one call of an operation: its kind, the number of elements, and the root. Only operations with a
// root use the root.
type called struct{ kind, n, root int }

// pending is a nonblocking operation that is under way, and the function that checks its result.
type pending struct {
	request runtime.Request
	check   func() error
}

func collective(r simulate.Rank) error {
	err := collectiveSteps(r)
	if errors.Is(err, simulate.ErrGivenUp) || !expected(r.Conditions, err) {
		return err
	}
	return nil
}

// expected reports whether err is nil or a consequence of the loss of the rank that may die.
func expected(c *simulate.Conditions, err error) bool {
	lost := newLosses(c)
	var peer *runtime.PeerError
	return err == nil || lost.mortal && (errors.Is(err, runtime.ErrCommBroken) || errors.As(err, &peer) && peer.Rank == lost.rank)
}

// collectiveSteps executes a number of operations. If an operation fails, collectiveSteps breaks both
// communicators. The nonblocking operations then end, and members that were not in the failed operation do not
// wait for this rank.
func collectiveSteps(r simulate.Rank) (err error) {
	draw := r.Random(streamSteps)
	color := make([]int, r.Size())
	for i := range color {
		color[i] = draw.IntN(2)
	}
	part, err := r.Comm().Split(color[r.Rank()], draw.IntN(3)*r.Rank()%2)
	if err != nil {
		// Other ranks may already have made the communicator of the part. This rank does not have this
		// communicator and therefore cannot break it.
		if err = newLosses(r.Conditions).unexpected(err); err == nil {
			err = simulate.ErrGivenUp
		}
		return err
	}
	own := r.Random(uint32(streamOwn + r.Rank()))
	members := []*member{
		{comm: r.Comm(), random: r.Random(streamMembers), own: own, world: worldRanks(r.Comm())},
		{comm: part, random: r.Random(uint32(streamMembers + 1 + color[r.Rank()])), own: own, world: worldRanks(part)},
	}
	defer func() {
		if err == nil {
			return
		}
		for _, m := range members {
			m.comm.Break(err)
			for len(m.open) > 0 {
				if late := m.settle(); !expected(r.Conditions, late) {
					err = late
				}
			}
		}
	}()
	for range simulate.Pick(draw, 5, 40, 120) {
		if simulate.Chance(own, 0.1) {
			time.Sleep(simulate.Within(own, 20*time.Millisecond)) // virtual time
		}
		if err := members[draw.IntN(len(members))].next(); err != nil {
			return err
		}
	}
	return errors.Join(members[0].settle(), members[1].settle())
}

// worldRanks returns the ranks of a communicator's members in the World.
func worldRanks(c *runtime.Comm) []int {
	list := make([]int, c.Size())
	for i := range list {
		list[i] = c.WorldRank(i)
	}
	return list
}

// value returns the element with index i of a member's contribution to the current step.
func (m *member) value(rank, i int) int64 {
	return int64(uint32(m.world[rank]+1)*2654435761+uint32(m.step)*40503+uint32(i)*69069) % 1000
}

// values returns n elements of a member's contribution, beginning at the index from.
func (m *member) values(rank, from, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = m.value(rank, from+i)
	}
	return list
}

// Kinds of operations.
const (
	kindBarrier = iota
	kindBcast
	kindReduce
	kindAllReduce
	kindGather
	kindScatter
	kindAllGather
	kindAllToAll
	kindRing    // messages of the program
	kindStarted // a nonblocking operation
)

// draw draws a blocking collective operation.
func (m *member) draw() called {
	kind := simulate.Pick(m.random, kindBarrier, kindBcast, kindReduce, kindReduce, kindAllReduce, kindAllReduce, kindGather, kindScatter, kindAllGather, kindAllToAll)
	return called{kind, simulate.Pick(m.random, 0, 1, 2, 17, 100, 3000), m.random.IntN(m.comm.Size())}
}

// next executes one operation, which is the same at all members.
func (m *member) next() error {
	m.step++
	c := m.draw()
	switch m.random.IntN(13) {
	case 0:
		c.kind = kindRing
	case 1, 2:
		c.kind = kindStarted
	}
	if err := m.do(c); err != nil {
		return fmt.Errorf("step %d, %+v: %w", m.step, c, err)
	}
	if len(m.open) > m.random.IntN(4) {
		return m.settle()
	}
	return nil
}

// do executes one operation and checks its result.
func (m *member) do(c called) error {
	switch c.kind {
	case kindBarrier:
		return collectives.Barrier(m.comm)
	case kindBcast:
		return m.bcast(c.n, c.root)
	case kindReduce:
		return m.reduce(c.n, c.root)
	case kindAllReduce:
		return m.allReduce(c.n)
	case kindGather:
		return m.gather(c.n, c.root)
	case kindScatter:
		return m.scatter(c.n, c.root)
	case kindAllGather:
		return m.allGather(c.n)
	case kindAllToAll:
		return m.allToAll(c.n)
	case kindRing:
		return m.ring(c.n)
	default:
		m.begin(c.n, c.root)
		return nil
	}
}

// equal returns an error that shows the first difference between a result and the expected result.
func equal(got, want []int64) error {
	if slices.Equal(got, want) {
		return nil
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	return fmt.Errorf("element %d of %d is wrong: got %v, want %v", i, len(want), got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
}

// folded returns the result of a reduction of all members' values in rank order.
func (m *member) folded(n int, fn func(a, b int64) int64) []int64 {
	all := m.values(0, 0, n)
	for rank := 1; rank < m.comm.Size(); rank++ {
		for i := range all {
			all[i] = fn(all[i], m.value(rank, i))
		}
	}
	return all
}

// operator is a reduction operator of package collectives, and the function that it computes.
type operator struct {
	op collectives.Op
	fn func(a, b int64) int64
}

// operators returns three operators that commute, and one operator that does not commute. The result of the
// last operator is its right operand.
func operators() []operator {
	last := func(_, b int64) int64 { return b }
	return []operator{
		{collectives.Sum, func(a, b int64) int64 { return a + b }},
		{collectives.Max, func(a, b int64) int64 { return max(a, b) }},
		{collectives.Min, func(a, b int64) int64 { return min(a, b) }},
		{collectives.Func(last, false), last},
	}
}

func (m *member) bcast(n, root int) error {
	buf := make([]int64, n)
	if m.comm.Rank() == root {
		buf = m.values(root, 0, n)
	}
	if err := collectives.Bcast(m.comm, buf, root); err != nil {
		return err
	}
	return equal(buf, m.values(root, 0, n))
}

func (m *member) reduce(n, root int) error {
	o := operators()[m.random.IntN(4)]
	var got []int64
	if m.comm.Rank() == root {
		got = make([]int64, n)
	}
	if err := collectives.Reduce(m.comm, m.values(m.comm.Rank(), 0, n), got, o.op, root); err != nil || m.comm.Rank() != root {
		return err
	}
	return equal(got, m.folded(n, o.fn))
}

func (m *member) allReduce(n int) error {
	o, got := operators()[m.random.IntN(4)], make([]int64, n)
	if err := collectives.AllReduce(m.comm, m.values(m.comm.Rank(), 0, n), got, o.op); err != nil {
		return err
	}
	return equal(got, m.folded(n, o.fn))
}

// all returns the values of all members, beginning at the index from, concatenated in rank order.
func (m *member) all(from, n int) []int64 {
	list := make([]int64, 0, n*m.comm.Size())
	for rank := range m.comm.Size() {
		list = append(list, m.values(rank, from, n)...)
	}
	return list
}

func (m *member) gather(n, root int) error {
	var got []int64
	if m.comm.Rank() == root {
		got = make([]int64, n*m.comm.Size())
	}
	if err := collectives.Gather(m.comm, m.values(m.comm.Rank(), 0, n), got, root); err != nil || m.comm.Rank() != root {
		return err
	}
	return equal(got, m.all(0, n))
}

func (m *member) scatter(n, root int) error {
	var send []int64
	if m.comm.Rank() == root {
		send = m.values(root, 0, n*m.comm.Size())
	}
	got := make([]int64, n)
	if err := collectives.Scatter(m.comm, send, got, root); err != nil {
		return err
	}
	return equal(got, m.values(root, n*m.comm.Rank(), n))
}

func (m *member) allGather(n int) error {
	got := make([]int64, n*m.comm.Size())
	if err := collectives.AllGather(m.comm, m.values(m.comm.Rank(), 0, n), got); err != nil {
		return err
	}
	return equal(got, m.all(0, n))
}

func (m *member) allToAll(n int) error {
	size := m.comm.Size()
	got := make([]int64, n*size)
	if err := collectives.AllToAll(m.comm, m.values(m.comm.Rank(), 0, n*size), got); err != nil {
		return err
	}
	return equal(got, m.all(n*m.comm.Rank(), n))
}

// ring sends a message to the next member and receives one from the previous member.
func (m *member) ring(n int) error {
	size, rank := m.comm.Size(), m.comm.Rank()
	left, got := (rank+size-1)%size, make([]int64, n)
	if _, err := runtime.SendRecv(m.comm, m.values(rank, 0, n), (rank+1)%size, m.step%100, got, left, m.step%100); err != nil {
		return err
	}
	return equal(got, m.values(left, 0, n))
}

// begin starts a nonblocking operation, and adds it to open.
func (m *member) begin(n, root int) {
	switch m.random.IntN(3) {
	case 0:
		m.open = append(m.open, pending{collectives.IBarrier(m.comm), func() error { return nil }})
	case 1:
		buf, want := make([]int64, n), m.values(root, 0, n)
		if m.comm.Rank() == root {
			copy(buf, want)
		}
		m.open = append(m.open, pending{collectives.IBcast(m.comm, buf, root), func() error { return equal(buf, want) }})
	default:
		o, got := operators()[m.random.IntN(4)], make([]int64, n)
		want := m.folded(n, o.fn)
		request := collectives.IAllReduce(m.comm, m.values(m.comm.Rank(), 0, n), got, o.op)
		m.open = append(m.open, pending{request, func() error { return equal(got, want) }})
	}
}

// settle waits for the nonblocking operations in an order that differs from rank to rank.
func (m *member) settle() error {
	for len(m.open) > 0 {
		i := m.own.IntN(len(m.open))
		o := m.open[i]
		m.open = slices.Delete(m.open, i, i+1)
		if _, err := o.request.Wait(); err != nil {
			return fmt.Errorf("nonblocking operation before step %d: %w", m.step, err)
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("nonblocking operation before step %d: %w", m.step, err)
		}
	}
	return nil
}

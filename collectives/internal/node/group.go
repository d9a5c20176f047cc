package node

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Config has the arguments of New.
type Config struct {
	// Rank is this member's number, Size the number of members, at least 2.
	Rank, Size int
	// Crowded is true if members outnumber processors. In this case a waiting member yields at once.
	// There are more slots and longer segments, because a switch between members costs more than a
	// cache miss.
	Crowded bool
	// Segment is the length in bytes of the segments of large operations, a
	// multiple of 64. If it is 0, the length depends on the number of members and on Crowded.
	Segment int
	// Slots is the number of small operations by which a member may be ahead of the others. It is a
	// power of two and at least 4. If it is 0, the number depends on the number of members and on Crowded.
	Slots int
	// Reader reads other members' private memory; nil if that is impossible.
	Reader Reader
	// Note is called with private memory of this member before a Reader reads from this memory or
	// into it. It may be nil.
	Note func(b []byte)
	// FaultIn maps the pages of a member's part in advance; write is true for the part of this member.
	// The part begins at a page boundary. If FaultIn is nil, a page is mapped when it is first used.
	FaultIn func(part []byte, write bool)
	// Place returns the source line of the current operation, for errors; it may be
	// nil.
	Place func() string
	// Awaits is called before each wait for other members; it may be nil.
	Awaits func()
	// Open returns memory that the members share. The argument bytes is the length of each member's
	// part of this memory. All members call Open in the same order.
	Open func(bytes int) (Memory, error)
}

// Group is the state of one member: its step, and where the words and buffers of all members are. One
// goroutine at a time may use it.
type Group struct {
	rank, size int
	crowded    bool
	spin       int
	awaits     func()
	open       func(bytes int) (Memory, error)

	mem  Memory
	plan plan
	// done[q] holds the last step that member q has reported as finished. A member writes its done word only
	// in operations in which some member does not wait for all others.
	done []*Word
	// slots[q] are the small buffers in the part of member q; nil before their first use.
	slots [][]slot
	// flags[k] is this member's flag for round k. Member before[k] = rank-2^k (modulo size) sets it.
	// next[k] is the flag of member rank+2^k (modulo size); this member sets it.
	flags, next []*Word
	before      []int
	arrivals    *Word
	release     *Word
	// complete is used for the steps that a leader releases. The last member to arrive at such a step
	// stores the number of the step in complete, unless this member is the leader.
	complete *Word

	// step is the number of the current operation. All members are known to have finished all steps
	// whose numbers are below floor. arrived is the value of the arrival counter after all members, with
	// equal calls, have arrived at the latest step that uses the counter.
	step, floor, arrived uint64
	// leader is a member for which all others waited in the latest small operation, if members share processors: the
	// root of a broadcast or a scatter, or member 0 of a scan. After other operations and after a BarrierCounter,
	// leader is noLeader.
	leader int

	said    statements
	large   *ring
	reader  Reader
	note    func(b []byte)
	faultIn func(part []byte, write bool)
	lending *peerReads
}

// noLeader is the value of Group.leader if no member is the leader.
const noLeader = -1

// spins is the number of times that a member with a processor of its own polls a word before
// Memory.Await suspends the member. The polls take some microseconds. If the other member runs on
// another processor, the word usually changes sooner. Members that share processors poll a word once.
const spins = 3000

// New returns the state of one member, and opens the memory of the small operations. The first large
// operation opens the memory of the large operations.
func New(c Config) (*Group, error) {
	g := &Group{rank: c.Rank, size: c.Size, crowded: c.Crowded, leader: noLeader, spin: spins, awaits: c.Awaits, open: c.Open, reader: c.Reader, note: c.Note, faultIn: c.FaultIn, plan: planFor(c.Size, c.Crowded)}
	if c.Crowded {
		g.spin = 1
	}
	if g.note == nil {
		g.note = func([]byte) {}
	}
	if g.faultIn == nil {
		g.faultIn = func([]byte, bool) {}
	}
	if g.awaits == nil {
		g.awaits = func() {}
	}
	if c.Segment > 0 {
		g.plan.segment, g.plan.room = c.Segment, c.Segment
	}
	if c.Slots > 0 {
		g.plan.setSlots(c.Slots, c.Crowded)
	}
	mem, err := c.Open(g.plan.smallPart())
	if err != nil {
		return nil, err
	}
	g.mem = mem
	g.done, g.slots = make([]*Word, g.size), make([][]slot, g.size)
	for q := range g.size {
		part := mem.Part(q)
		g.done[q] = wordAt(part, doneOffset)
	}
	for k := 0; 1<<k < g.size && k < flagCount; k++ {
		g.flags = append(g.flags, wordAt(mem.Part(g.rank), flagOffset(k)))
		g.next = append(g.next, wordAt(mem.Part((g.rank+1<<k)%g.size), flagOffset(k)))
		g.before = append(g.before, (g.rank+g.size-1<<k)%g.size)
	}
	g.said.place = c.Place
	for q := range g.size {
		g.said.parts = append(g.said.parts, mem.Part(q)[saidOffset:][:statementsLength])
	}
	g.arrivals = wordAt(mem.Part(0), arrivalOffset)
	g.release = wordAt(mem.Part(0), releaseOffset)
	g.complete = wordAt(mem.Part(0), completeOffset)
	return g, nil
}

// openMore opens memory. All members first meet in a barrier, which compares their calls: without
// this comparison, Open would wait for ever, without an error, for a member that is in another
// operation.
func (g *Group) openMore(bytes int) (Memory, error) {
	if err := g.BarrierCounter(); err != nil {
		return nil, err
	}
	return g.open(bytes)
}

// SmallMax returns the largest length in bytes of one member's contribution to a small operation.
func (g *Group) SmallMax() int { return g.plan.slotBytes - line }

// await waits until w is at least v.
func (g *Group) await(w *Word, v uint64) error { return g.awaitIn(g.mem, w, v) }

// awaitIn is await for a word in mem. If polling is not enough, it compares the members' calls before
// it suspends this member, because w may stay below v for ever if calls differ.
func (g *Group) awaitIn(mem Memory, w *Word, v uint64) error {
	if g.spun(w, v) {
		return nil
	}
	if err := g.agreeAround(); err != nil {
		return err
	}
	return mem.Await(w, v)
}

// spun polls w until w is at least v, but at most g.spin times. It reports whether w was at least v.
func (g *Group) spun(w *Word, v uint64) bool {
	g.awaits()
	for range g.spin {
		if w.Load() >= v {
			return true
		}
	}
	return false
}

// begin assigns a small operation its number n, and returns this member's slot for it. If other members
// may still read the slot, it waits for them.
func (g *Group) begin() (n uint64, mine *slot, err error) {
	g.step++
	n, g.leader = g.step, noLeader
	mine = g.slot(g.rank, n)
	if count := uint64(g.plan.slots); n > count && g.floor <= n-count {
		err = g.catchUp(n - uint64(g.plan.lag))
	}
	return n, mine, err
}

// catchUp waits until all other members have finished step n. The members may already have finished
// later steps. catchUp also raises floor as far as the done words permit, so that the next steps of
// this member need not read them.
func (g *Group) catchUp(n uint64) error {
	finished := ^uint64(0)
	for q, w := range g.done {
		if q == g.rank {
			continue
		}
		if err := g.await(w, n); err != nil {
			return err
		}
		finished = min(finished, w.Load())
	}
	g.floor = max(g.floor, min(finished, g.step-1)+1)
	return nil
}

// slot returns the buffer of member q in step n.
func (g *Group) slot(q int, n uint64) *slot {
	slots := g.slots[q]
	if slots == nil {
		slots = g.locate(q)
	}
	return &slots[n&uint64(len(slots)-1)]
}

// locate fills in slots[q]. It is called at the first use of the buffers of member q. The reason: slots takes about
// 80 KiB in a group of 64 members, and a member that only waits in barriers does not need this memory.
func (g *Group) locate(q int) []slot {
	part := g.mem.Part(q)
	if !g.crowded { // otherwise a part has more slots than most programs use
		g.faultIn(part, q == g.rank)
	}
	slots := make([]slot, g.plan.slots)
	for i := range slots {
		slots[i] = g.plan.slot(part, i)
	}
	g.slots[q] = slots
	return slots
}

// announce signals that this member's slot of step n is written.
func (g *Group) announce(mine *slot, n uint64) { g.mem.Signal(mine.word, n<<markBits|g.said.mark) }

// awaitSlot waits until member q's slot of step n is written. The slot keeps its contents
// until this member has finished the step.
func (g *Group) awaitSlot(q int, n uint64) (*slot, error) {
	s := g.slot(q, n)
	if err := g.await(s.word, n<<markBits); err != nil {
		return nil, err
	}
	return s, g.marked(q, s.word.Load())
}

// finish signals that this member has finished step n. It is called in operations in which a member
// does not wait for all others.
func (g *Group) finish(n uint64) { g.mem.Signal(g.done[g.rank], n) }

// meet signals that this member's slot of step n is written, and waits until the slots of all others
// are written.
func (g *Group) meet(n uint64) error {
	if g.crowded {
		return g.meetAtCounter(n)
	}
	g.announce(g.slot(g.rank, n), n)
	return g.collect(n)
}

// collect waits until the other members' slots of step n are written.
func (g *Group) collect(n uint64) error {
	for q := range g.slots {
		if q == g.rank {
			continue
		}
		if _, err := g.awaitSlot(q, n); err != nil {
			return err
		}
	}
	g.floor = n
	return nil
}

// The arrival counter also holds the sum of the members' fingerprints (see markBits).
//
//	bits 63:48  sum of the fingerprints, modulo 2^16
//	bits 47:0   number of arrivals
const (
	sumShift    = 48
	arrivalMask = 1<<sumShift - 1
)

// arrive counts this member's arrival, and reports whether this member is the last to arrive. The last
// member returns an error if the members' calls differ.
func (g *Group) arrive() (last bool, err error) {
	one := g.said.mark<<sumShift | 1
	g.arrived += uint64(g.size) * one
	all := g.arrivals.Add(one)
	if last = all&arrivalMask == g.arrived&arrivalMask; last && all != g.arrived {
		err = g.differ()
	}
	return last, err
}

// ErrDamaged is the error of an operation that reads a value from shared memory that no member can
// have written.
var ErrDamaged = errors.New("shared memory is damaged")

// The release word:
//
//	bits 63:16  step
//	bits 15:0   rank of the member that releases, usually the last one to arrive
const releaseShift = 16

func (g *Group) letGo(n uint64) {
	g.floor = n
	g.mem.Signal(g.release, n<<releaseShift|uint64(g.rank))
}

// released waits until step n is released, and returns the member that has released the step.
func (g *Group) released(n uint64) (last int, err error) {
	if !g.spun(g.release, n<<releaseShift) {
		if err := g.agreeNext(); err != nil {
			return 0, err
		}
		if err := g.mem.Await(g.release, n<<releaseShift); err != nil {
			return 0, err
		}
	}
	g.floor = n
	last = int(g.release.Load() & (1<<releaseShift - 1))
	if last >= g.size {
		return 0, fmt.Errorf("%w: member %d of %d arrived last", ErrDamaged, last, g.size)
	}
	return last, nil
}

func (g *Group) meetAtCounter(n uint64) error {
	last, err := g.arrive()
	if err != nil {
		return err
	}
	if last {
		g.letGo(n)
		return nil
	}
	_, err = g.released(n)
	return err
}

// combine combines the contributions in all slots of step n, in rank order, into dst.
func (g *Group) combine(dst []byte, n uint64, r message.Reduction) {
	g.combineBelow(dst, n, g.size, r)
}

package node

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// Config describes the members to New.
type Config struct {
	// Rank is this member, Size the number of members, at least 2.
	Rank, Size int
	// Crowded says that members outnumber processors: a member that waits should yield at
	// once, and a switch between members costs more than a cache miss.
	Crowded bool
	// Segment is the length in bytes of the segments of large operations, a
	// multiple of 64; 0 lets the number of members decide.
	Segment int
	// Slots is how many small operations a member may be ahead of the others, a power of two from 4
	// on; 0 lets the number of members decide.
	Slots int
	// Reader reads other members' private memory; nil if that is impossible.
	Reader Reader
	// Note is called with private memory that Reader is about to read from or to read into;
	// it may be nil.
	Note func(b []byte)
	// Place returns the source line of the current operation, for errors; it may be
	// nil.
	Place func() string
	// Awaits is called before each wait for other members; it may be nil.
	Awaits func()
	// Open returns memory shared by the members, with parts of this many bytes.
	// All members call it in the same order.
	Open func(bytes int) (Memory, error)
}

// Group is one member's state: its step and the addresses of the words. It belongs to one
// goroutine at a time.
type Group struct {
	rank, size int
	crowded    bool
	spin       int
	awaits     func()
	open       func(bytes int) (Memory, error)

	mem  Memory
	plan plan
	// done[q] is the last step that q finished, of those in which not every member waits
	// for all others.
	done []*Word
	// slots[q] are the buffers of q.
	slots [][]slot
	// flags[k] is set by the member 2^k before this one; next[k] is that of the
	// member 2^k after it, before[k] the number of the one before.
	flags, next []*Word
	before      []int
	arrivals    *Word
	release     *Word
	// complete is the latest step at which the last member has arrived, of those that a leader releases.
	complete *Word

	// step is the number of the current operation, floor the last one that all
	// members are known to have begun, arrived the arrivals counted so far.
	step, floor, arrived uint64
	// leader is the root of a small operation in which the others waited for it alone, if that was the
	// latest operation of members that share processors, else noLeader.
	leader int

	said    statements
	large   *ring
	reader  Reader
	note    func(b []byte)
	lending *peerReads
}

// noLeader says that no member is the leader.
const noLeader = -1

// spins is how often a word is read before Memory waits for it, some microseconds: most
// changes by members on other processors arrive sooner.
const spins = 3000

// New returns the state of one member and opens the memory of the small
// operations; that of the large ones follows with the first of them.
func New(c Config) (*Group, error) {
	g := &Group{rank: c.Rank, size: c.Size, crowded: c.Crowded, leader: noLeader, spin: spins, awaits: c.Awaits, open: c.Open, reader: c.Reader, note: c.Note, plan: planFor(c.Size, c.Crowded)}
	if c.Crowded {
		g.spin = 1
	}
	if g.note == nil {
		g.note = func([]byte) {}
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
		g.slots[q] = make([]slot, g.plan.slots)
		for i := range g.slots[q] {
			g.slots[q][i] = g.plan.slot(part, i)
		}
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

// openMore opens memory after all members have arrived at it: otherwise the wait for a
// member in another operation would give no error.
func (g *Group) openMore(bytes int) (Memory, error) {
	if err := g.BarrierCounter(); err != nil {
		return nil, err
	}
	return g.open(bytes)
}

// SmallMax is the largest contribution in bytes of one rank to the small
// operations.
func (g *Group) SmallMax() int { return g.plan.slotBytes - line }

// await waits until a word is at least v.
func (g *Group) await(w *Word, v uint64) error { return g.awaitIn(g.mem, w, v) }

// awaitIn is await for a word in some memory. During a long wait it compares the members'
// calls, which may differ.
func (g *Group) awaitIn(mem Memory, w *Word, v uint64) error {
	if g.spun(w, v) {
		return nil
	}
	if err := g.agreeAround(); err != nil {
		return err
	}
	return mem.Await(w, v)
}

// spun reads a word several times and reports whether it became at least v.
func (g *Group) spun(w *Word, v uint64) bool {
	g.awaits()
	for range g.spin {
		if w.Load() >= v {
			return true
		}
	}
	return false
}

// begin numbers an operation and makes sure that this member's slot for it is
// free.
func (g *Group) begin() (n uint64, mine *slot, err error) {
	g.step++
	n, g.leader = g.step, noLeader
	mine = g.slot(g.rank, n)
	if count := uint64(g.plan.slots); n > count && g.floor <= n-count {
		err = g.catchUp(n - uint64(g.plan.lag))
	}
	return n, mine, err
}

// catchUp waits until all other members have finished step n. They may have finished later ones, so that
// the next steps need not look.
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
	return &slots[n&uint64(len(slots)-1)]
}

// announce says that this member's slot of step n is written.
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

// finish publishes that this member has finished step n, in which not every member waited
// for all others.
func (g *Group) finish(n uint64) { g.mem.Signal(g.done[g.rank], n) }

// meet announces that this member's slot of step n is written, and waits until those of the
// others are.
func (g *Group) meet(n uint64) error {
	if g.crowded {
		return g.meetAtCounter(n)
	}
	g.announce(g.slot(g.rank, n), n)
	return g.collect(n)
}

// collect waits until everyone's slot of step n is written.
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

// The arrival counter also adds up the fingerprints of the calls.
//
//	bits 63:48  sum of the fingerprints, without what overflows
//	bits 47:0   arrivals
const (
	sumShift    = 48
	arrivalMask = 1<<sumShift - 1
)

// arrive counts this member's arrival and reports whether it is the last. The last member
// also detects whether the calls of all were equal.
func (g *Group) arrive() (last bool, err error) {
	one := g.said.mark<<sumShift | 1
	g.arrived += uint64(g.size) * one
	all := g.arrivals.Add(one)
	if last = all&arrivalMask == g.arrived&arrivalMask; last && all != g.arrived {
		err = g.differ()
	}
	return last, err
}

// ErrDamaged ends an operation that finds values in shared memory that no member writes.
var ErrDamaged = errors.New("shared memory is damaged")

// The release word is the step and the member that arrived last.
//
//	bits 63:16  step
//	bits 15:0   rank of the last to arrive
const releaseShift = 16

func (g *Group) letGo(n uint64) {
	g.floor = n
	g.mem.Signal(g.release, n<<releaseShift|uint64(g.rank))
}

// released waits for the release of step n and returns the member that arrived last.
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

// combine sets dst to the combination of all slots of step n in rank order.
func (g *Group) combine(dst []byte, n uint64, r message.Reduction) {
	g.combineBelow(dst, n, g.size, r)
}

package collectives

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/internal/toggle"
	"github.com/gorun-hpc/gorun/runtime"
)

// group holds this rank's state for the collective operations of one communicator. It is an
// attribute of the communicator.
type group struct {
	// peer sends with tagBlocking through the view of the operation in progress.
	peer
	// near is true if all members share a node. crowded is true if the ranks of this node outnumber
	// its processors.
	near, crowded bool
	// cramped is the field cramped of situation.
	cramped bool
	// nested is true if several members share a node, but not all members do. inOrder is true if
	// nested is true and the members of each node precede the members of the next node.
	nested, inOrder bool
	// widest is the largest number of members on a node.
	widest int
	// parts has the members of each node. levels has the operations within nodes and between nodes.
	// levels is nil before the first blocking operation. If nested is false, levels is always nil.
	parts  tier.Parts
	levels *tier.Nested
	// deep has the operations of three levels: within domains (see domains), between the domains of
	// a node, and between nodes. It is nil before the first operation of three levels.
	deep    *tier.Nested
	domains domains
	// weighed is true if the two members of the group have measured whether they exchange long blocks
	// faster by reading each other's private memory.
	weighed bool
	// longParts is the method chooseLongParts. Algorithms call it through this field, because the
	// compiler would refuse a direct call as an initialization cycle: the variable table refers to the
	// algorithms, and chooseLongParts refers to table.
	longParts                  func(n *node.Group, longest int) (node.LongParts, error)
	smallMax, elemMax, laneMax int
	override                   overrides
	// fixed is true if reductions must combine from left to right (GORUN_REPRODUCIBLE).
	fixed bool
	// compared is true if calls are compared with the calls of other members (GORUN_COMPARE).
	compared bool
	choices  *choices // nil without gorun -explain
	// chosen has the rules of the latest blocking calls.
	chosen chosen
	// call has the arguments of the blocking operation in progress.
	call message.Call
	// node is nil before the first operation in shared memory. memories is the shared memory that
	// this rank has opened.
	node     *node.Group
	memories *memories
	// number is the number of the latest blocking call, counted from 1. trail computes the
	// fingerprint, a hash, of all blocking calls.
	number uint64
	trail  node.Trail
	under  underway

	// The fields below may be used by any goroutine.

	// table replaces the built-in choice, unless it is nil.
	table atomic.Pointer[Table]
	// unreadable is true if members have tried to read each other's private memory, and could not.
	unreadable atomic.Bool
	// apart is true if there are two members, each of which has a processor, and the two processors
	// have no common cache.
	apart atomic.Bool
	// slower is true if the two members have measured that they do not exchange long blocks faster by reading each
	// other's private memory (see node.Group.PullsFaster).
	slower atomic.Bool
	// home is the private view of the communicator, without the context.Context of an operation.
	home *runtime.Comm
	// busy is busyBlocking while a blocking operation is in progress, and after a Close that found no
	// operation in progress. It is busyValues while an operation with values is in progress, except in the steps of
	// this operation that are themselves blocking operations. Otherwise busy is 0. The goroutine of the operation in
	// progress owns the fields from peer to under.
	busy uint32
	// blocking and nonblocking record the latest calls of each kind.
	blocking, nonblocking record
	// started counts nonblocking operations. idle keeps the memory of ended nonblocking operations for reuse.
	started, ended atomic.Uint64 // ended counts those that have ended
	idle           idleStarted
	watch, flies   watch // of blocking and nonblocking operations
	// values records the operation with values in progress.
	values valueUse
	// recorder is the rank's flight recorder; context is the recorder's number for the communicator.
	// texts has the recorder's number for the name of each operation, or 0 if that number is not
	// known yet.
	recorder *flight.Recorder
	context  uint32
	texts    [message.Operations]atomic.Uint32
}

// groupKey is the key of the attribute.
type groupKey struct{}

// find returns the group of a communicator and the view through which an operation on c sends. The
// first call makes the group. Later calls do not change the group. So find may be called during an
// operation.
func find(c *runtime.Comm) (*group, *runtime.Comm, error) {
	if c == nil {
		return nil, nil, runtime.ErrComm
	}
	p := c.Private()
	v, err := p.Attribute(groupKey{}, func() (any, error) { return newGroup(p) })
	if err != nil {
		return nil, nil, err
	}
	return v.(*group), p, nil
}

// Close releases the shared memory when the communicator is closed. It returns an error if leftovers finds
// that this member's calls did not match the calls of other members, and no operation has detected the
// mismatch.
//
// If an operation of another goroutine is in progress, that operation ends with an error, but may
// still use the shared memory. In this case a cleanup of the garbage collector releases the memory
// when nothing refers to the group any more.
func (g *group) Close() error {
	g.watch.end()
	g.flies.end()
	if !atomic.CompareAndSwapUint32(&g.busy, 0, busyBlocking) { // busy stays set, so that no operation begins
		goruntime.AddCleanup(g, func(m *memories) { _ = m.close() }, g.memories)
		return nil
	}
	return errors.Join(g.leftovers(), g.memories.close())
}

// memories is the shared memory that a group has opened.
type memories struct {
	mu  sync.Mutex // guards the field all
	all []*runtime.Shared
}

// add records memory that close is to release.
func (m *memories) add(s *runtime.Shared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, s)
}

// close releases the memory.
func (m *memories) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, s := range m.all {
		err = errors.Join(err, s.Close())
	}
	m.all = nil
	return err
}

func newGroup(c *runtime.Comm) (*group, error) {
	if c.Remote() {
		return nil, fmt.Errorf("%w: the ranks of %s are those of another group; use InterBarrier and the other Inter operations", runtime.ErrComm, c.Name())
	}
	override, err := environment()
	if err != nil {
		return nil, err
	}
	measured, err := environmentTable()
	if err != nil {
		return nil, err
	}
	fixed, err := toggled("GORUN_REPRODUCIBLE", false)
	if err != nil {
		return nil, err
	}
	compared, err := toggled("GORUN_COMPARE", true)
	if err != nil {
		return nil, err
	}
	noted, err := choicesOf(c)
	if err != nil {
		return nil, err
	}
	g := &group{memories: new(memories), override: override, fixed: fixed, compared: compared, choices: noted, crowded: c.Oversubscribed()}
	g.table.Store(measured)
	g.cramped = g.crowded && c.World().Processors() <= crampedMax
	g.home = c.WithContext(context.Background())
	g.recorder, g.context = c.Recorder()
	g.rank, g.size, g.tag = c.Rank(), c.Size(), tagBlocking
	g.idle.rank, g.idle.size = g.rank, g.size
	g.domains.own = runtime.CacheDomain
	g.longParts = g.chooseLongParts
	g.place(c.Placement())
	g.smallMax, g.elemMax, g.laneMax = node.Limits(g.size, g.crowded)
	return g, nil
}

// toggled returns the value of an environment variable that is true or false, see toggle.Of.
func toggled(name string, otherwise bool) (bool, error) {
	on, err := toggle.Of(name, otherwise)
	if err != nil {
		err = fmt.Errorf("%w: %w", runtime.ErrArgument, err)
	}
	return on, err
}

// situation returns the situation of a blocking call, on which the choice of its algorithm depends.
func (g *group) situation(k *call) situation {
	s := g.messageSituation(k)
	s.near, s.nested, s.inOrder = g.near, g.nested, g.inOrder
	s.readable, s.spread, s.apart = g.near && !g.unreadable.Load(), g.domains.spread.Load(), g.apart.Load()
	s.pulls = g.size == 2 && !g.crowded && !g.slower.Load()
	return s
}

// messageSituation returns the situation of a call that is executed by messages alone. The fields of the group that
// it reads do not change. So any goroutine may call it. All members choose the same algorithm: the result differs
// between members only in crowded, cramped, elemMax and laneMax, on which no message algorithm depends (see need).
func (g *group) messageSituation(k *call) situation {
	return situation{
		op: k.op, bytes: k.block, elem: k.Reduction.Elem, commutative: k.Reduction.Commutative || !k.op.Reduces(),
		ranks: g.size, perNode: g.widest, crowded: g.crowded, cramped: g.cramped, fixed: g.fixed && k.op.Reduces(),
		smallMax: g.smallMax, elemMax: g.elemMax, laneMax: g.laneMax,
	}
}

// take returns the rule for a situation. With gorun -explain it records the choice.
func (g *group) take(s *situation) *rule {
	r := choose(s, g.override[s.op], g.table.Load())
	if g.choices != nil {
		g.choices.note(s, r)
	}
	return r
}

// refuse adds the name of the operation to err. It also adds the source line of the call, except to the error of a
// nonblocking operation that has begun to run (see callsite.At).
func refuse(op message.Operation, err error) error {
	return callsite.At(fmt.Errorf("collectives: %v: %w", op, err))
}

// Values of the field busy of a group.
const (
	busyBlocking = 1 + iota
	busyValues
)

// claim makes this goroutine the owner of the group for a blocking operation. If another goroutine
// is the owner, it returns an error and breaks the communicator. If claim returns nil, the caller
// must call end or, if it has called announce instead of begin, set busy to k.free.
func (g *group) claim(k *call) error {
	if atomic.CompareAndSwapUint32(&g.busy, k.free, busyBlocking) {
		return nil
	}
	return g.occupied(k.op.String())
}

// occupied breaks the communicator and returns the error of operation op, which begins while another
// goroutine is the owner of the group.
func (g *group) occupied(op string) error {
	if err := g.home.Err(); err != nil { // Close has set busy, or the communicator is broken
		return err
	}
	var here callsite.Site
	here.Note()
	err := g.inUse(op, &here)
	g.home.Break(err)
	return err
}

// begin starts a blocking operation. It numbers and records this member's call before the algorithm
// is chosen. It is called once for each operation, so that the numbers agree at all members and do
// not depend on the algorithm.
func (g *group) begin(k *call) error {
	g.comm = k.view
	said := k.statement()
	g.number++
	same := g.comparable(said)
	trail := g.trail.Follow(same)
	bears := label(trail, g.number)
	g.blocking.note(g.number, said, bears, k.site())
	if g.under.set(k); g.node == nil {
		g.record() // before the members allocate shared memory together
	}
	g.label.Set(bears)
	if g.compared {
		g.watch.wake(g)
	}
	return g.enterNode(same, trail)
}

// announce counts and records a blocking call that sends no labeled message: it has no elements, or its messages are
// values. The goroutine must own the group. announce repeats lines of begin, because a common
// function would add a frame to the stack. A callsite.Site holds few frames, so that the frame of the program might
// then be missing.
func (g *group) announce(k *call) {
	said := k.statement()
	g.number++
	same := g.comparable(said)
	trail := g.trail.Follow(same)
	g.blocking.note(g.number, said, label(trail, g.number), k.site())
	if g.node != nil {
		g.node.Enter(same, trail)
	}
}

// comparable returns what members compare: said, which describes a call, or, if calls are not compared,
// the same value for all calls.
func (g *group) comparable(said node.Call) node.Call {
	if !g.compared {
		return node.Call{What: 1}
	}
	return said
}

// end ends a blocking operation whose claim succeeded; err is the error of the operation or nil. If
// err is not nil, the members are out of step, and end breaks the communicator.
func (g *group) end(k *call, err error) error {
	g.record()
	g.under.record.End(err != nil)
	if err == nil {
		g.call.Send, g.call.Recv = nil, nil // do not keep the caller's buffers alive
		processor.Store32(&g.busy, k.free)
		return nil
	}
	err = g.explain(g.comm, err, &g.blocking, 0)
	g.comm.Break(err)
	processor.Store32(&g.busy, k.free)
	return refuse(k.op, lostWithin(g.comm, err))
}

// lostWithin returns the error of an operation that ended with err and broke the communicator c. If
// err is the loss of a rank, the result also wraps ErrCommBroken. So all members get both errors,
// although only timing decides which members detect the loss and which members are notified of the
// break.
func lostWithin(c *runtime.Comm, err error) error {
	var lost *runtime.PeerError
	broken := c.Err()
	switch {
	case !errors.As(err, &lost) || errors.Is(err, runtime.ErrCommBroken) || broken == nil:
		return err
	case errors.Is(broken, err):
		return broken
	}
	return fmt.Errorf("%w: %w", err, broken)
}

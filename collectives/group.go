package collectives

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/collectives/internal/tier"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// group is what this rank keeps for the collective operations of a
// communicator. It is an attribute of it.
type group struct {
	// peer sends with tagBlocking through the view of the current operation.
	peer
	near, crowded bool
	// nested says that several members share a node and not all do, inOrder that the members of
	// each node precede those of the next.
	nested, inOrder bool
	// widest is the largest number of members on a node.
	widest int
	// parts are the nodes of the members, levels the operations within nodes and between them;
	// levels is nil until the first operation, and if each member is on a node of its own.
	parts  tier.Parts
	levels *tier.Nested
	// deep has a third level, by domain, and is nil until the first operation of three.
	deep    *tier.Nested
	domains domains
	// apart says that there are two members, with processors of their own that have no cache in common.
	apart bool
	// weighed says that two members have measured whether they exchange long blocks faster by reading
	// private memory, slower that they do not.
	weighed, slower            bool
	smallMax, elemMax, laneMax int
	override                   overrides
	// fixed says that reductions combine from left to right (GORUN_REPRODUCIBLE).
	fixed bool
	// compared says that calls are compared with those of other members (GORUN_COMPARE).
	compared bool
	table    *Table   // nil for the built-in choice
	choices  *choices // nil if they are not to be explained
	// last is the rule of the latest blocking call.
	last chosen
	// call is what the operation under way works on.
	call message.Call
	// node is nil until the first operation through shared memory, memories are
	// what it has opened.
	node     *node.Group
	memories *memories
	// number is that of the latest blocking call, counted from 1; trail is the fingerprint
	// of all of them.
	number uint64
	trail  node.Trail
	under  underway

	// The fields below may be used by any goroutine.

	// unreadable says that members have tried to read each other's private memory, and cannot.
	unreadable atomic.Bool
	// home is the communicator itself, without the context of a view.
	home *runtime.Comm
	// busy is 1 while a blocking operation is under way, which owns the fields above.
	busy uint32
	// blocking and nonblocking are the latest calls of each kind.
	blocking, nonblocking record
	// started counts nonblocking operations, idle are the peers of those that have ended.
	started atomic.Uint64
	idle    idlePeers
	watch   watch
	// values is the operation with values under way.
	values valueUse
	// recorder is the rank's flight recorder, which knows the communicator as context; texts are the
	// recorder's of the operations, 0 if not known yet.
	recorder *flight.Recorder
	context  uint32
	texts    [message.Operations]atomic.Uint32
}

// groupKey is the key of the attribute.
type groupKey struct{}

// find returns the group of a communicator and the view through which it communicates. It
// changes nothing, so that it may be called during an operation.
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

// Close returns the shared memory when the communicator is closed. Its error names calls
// that did not match those of other members and that no operation has detected.
//
// An operation of another goroutine that is under way, which ends with an error, may still use
// that memory: it is then returned when nothing refers to the group any more.
func (g *group) Close() error {
	g.watch.end()
	if !atomic.CompareAndSwapUint32(&g.busy, 0, 1) { // it stays busy: no operation begins
		goruntime.AddCleanup(g, func(m *memories) { _ = m.close() }, g.memories)
		return nil
	}
	return errors.Join(g.leftovers(), g.memories.close())
}

// memories is the shared memory that a group has opened.
type memories struct {
	mu  sync.Mutex // guards all
	all []*runtime.Shared
}

// add keeps memory until close.
func (m *memories) add(s *runtime.Shared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, s)
}

// close returns the memory.
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
		return nil, fmt.Errorf("%w: the ranks of %s are those of another group; InterBarrier and its like are for it", runtime.ErrComm, c.Name())
	}
	override, err := environment()
	if err != nil {
		return nil, err
	}
	measured, err := environmentTable()
	if err != nil {
		return nil, err
	}
	fixed, err := settingOf("GORUN_REPRODUCIBLE", false)
	if err != nil {
		return nil, err
	}
	compared, err := settingOf("GORUN_COMPARE", true)
	if err != nil {
		return nil, err
	}
	noted, err := choicesOf(c)
	if err != nil {
		return nil, err
	}
	g := &group{memories: new(memories), override: override, table: measured, fixed: fixed, compared: compared, choices: noted, crowded: c.Oversubscribed()}
	g.home = c.WithContext(context.Background())
	g.recorder, g.context = c.Recorder()
	g.rank, g.size, g.tag = c.Rank(), c.Size(), tagBlocking
	g.idle.rank, g.idle.size = g.rank, g.size
	g.domains.own = runtime.CacheDomain
	g.place(c.Placement())
	g.smallMax, g.elemMax, g.laneMax = node.Limits(g.size, g.crowded)
	return g, nil
}

// settingOf reads a variable of the environment that is true or false.
func settingOf(name string, otherwise bool) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%w: %s=%s is neither true nor false", runtime.ErrArgument, name, text)
	}
	return on, nil
}

// situation is what the choice of an algorithm for a call depends on.
func (g *group) situation(k *call) situation {
	return situation{
		op: k.op, bytes: k.block, elem: k.Reduction.Elem, commutative: k.Reduction.Commutative || !k.op.Reduces(),
		ranks: g.size, near: g.near, nested: g.nested, inOrder: g.inOrder, perNode: g.widest, crowded: g.crowded, readable: g.near && !g.unreadable.Load(), spread: g.domains.spread(), apart: g.apart, pulls: g.size == 2 && !g.crowded && !g.slower, fixed: g.fixed && k.op.Reduces(),
		smallMax: g.smallMax, elemMax: g.elemMax, laneMax: g.laneMax,
	}
}

// take returns the rule for a situation, and records the choice.
func (g *group) take(s *situation) *rule {
	r := choose(s, g.override[s.op], g.table)
	if g.choices != nil {
		g.choices.note(s, r)
	}
	return r
}

// refuse names the operation, and where it was called, in its error.
func refuse(op message.Operation, err error) error {
	return callsite.At(fmt.Errorf("collectives: %v: %w", op, err))
}

// claim makes this goroutine the one whose blocking operation is under way. Unless it fails, end
// follows.
func (g *group) claim(op message.Operation) error {
	if atomic.CompareAndSwapUint32(&g.busy, 0, 1) {
		return nil
	}
	if err := g.home.Err(); err != nil { // Close has claimed it
		return err
	}
	err := g.inUse(op)
	g.home.Break(err)
	return err
}

// begin starts a blocking operation: it announces this member's call before it chooses the
// algorithm. It is called once per operation, so that the numbers of operations agree at
// all members whichever algorithm they use.
func (g *group) begin(k *call) error {
	g.comm = k.view
	said := k.statement()
	g.number++
	same := g.comparable(said)
	trail := g.trail.Follow(same)
	bears := label(trail, g.number)
	g.blocking.note(g.number, said, bears, k.site())
	if g.under.set(k); g.node == nil {
		g.record() // before the members make memory
	}
	g.label.Set(bears)
	if g.compared {
		g.watch.wake(g)
	}
	return g.enterNode(same, trail)
}

// comparable is what is compared of a call: the same of all calls if none are.
func (g *group) comparable(said node.Call) node.Call {
	if !g.compared {
		return node.Call{What: 1}
	}
	return said
}

// end finishes an operation that was begun. If the operation failed, the members are out of
// step, so the communicator is broken.
func (g *group) end(op message.Operation, err error) error {
	g.record()
	g.under.record.End(err != nil)
	if err == nil {
		g.call.Send, g.call.Recv = nil, nil // they are the caller's
		processor.Store32(&g.busy, 0)
		return nil
	}
	err = g.explain(g.comm, err, &g.blocking, 0)
	g.comm.Break(err)
	processor.Store32(&g.busy, 0)
	return refuse(op, lostWithin(g.comm, err))
}

// lostWithin is the error of an operation that broke a communicator. The member that
// detects the loss of a rank gets ErrCommBroken, too: timing alone decides which members
// detect it, and which are notified of the break.
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

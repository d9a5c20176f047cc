package collectives

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/hugepages"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// group is what this rank keeps for the collective operations of a
// communicator. It is an attribute of it.
type group struct {
	// peer sends with tagBlocking through the view of the current operation.
	peer
	near, crowded bool
	// readable says that members can read each other's private memory, or that none has
	// tried yet.
	readable          bool
	smallMax, elemMax int
	override          overrides
	choices           *choices // nil if they are not to be explained
	// node is nil until the first operation through shared memory, memories are
	// what it has opened.
	node     *node.Group
	memories []*runtime.Shared
	// number is that of the latest blocking call, counted from 1; trail is the fingerprint
	// of all of them.
	number uint64
	trail  node.Trail

	// The fields below may be used by any goroutine.

	// home is the communicator itself, without the context of a view.
	home *runtime.Comm
	// busy is 1 while a blocking operation is under way, which owns the fields above.
	busy uint32
	// blocking and nonblocking are the latest calls of each kind.
	blocking, nonblocking record
	// started counts nonblocking operations.
	started atomic.Uint64
	watch   watch
}

// groupKey is the key of the attribute.
type groupKey struct{}

// entry is a blocking call before it has begun: the group, the view through which it will
// communicate, and the kind of its elements.
type entry struct {
	*group
	view *runtime.Comm
	kind kernel.Kind
}

// enter returns the entry of an operation without elements.
func enter(c *runtime.Comm) (entry, error) {
	g, p, err := find(c)
	return entry{group: g, view: p}, err
}

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
func (g *group) Close() error {
	g.watch.end()
	err := g.leftovers()
	for _, s := range g.memories {
		err = errors.Join(err, s.Close())
	}
	return err
}

func newGroup(c *runtime.Comm) (*group, error) {
	override, err := environment()
	if err != nil {
		return nil, err
	}
	noted, err := choicesOf(c)
	if err != nil {
		return nil, err
	}
	g := &group{override: override, choices: noted, near: c.World().Nodes() == 1, crowded: c.Oversubscribed()}
	g.readable = g.near
	g.home = c.WithContext(context.Background())
	g.rank, g.size, g.tag = c.Rank(), c.Size(), tagBlocking
	g.smallMax, g.elemMax = node.Limits(g.size, g.crowded)
	return g, nil
}

// enterFor is enter for elements of type T.
func enterFor[T any](c *runtime.Comm) (entry, error) {
	e, err := enter(c)
	e.kind = kernel.KindOf[T]()
	if err == nil {
		err = element[T]()
	}
	return e, err
}

// element returns nil if T can be sent.
func element[T any]() error {
	if kernel.KindOf[T]() != kernel.Other {
		return nil
	}
	return runtime.Element[T]()
}

func (g *group) situation(op operation, bytes, elem int, commutative bool) situation {
	return situation{
		op: op, bytes: bytes, elem: elem, commutative: commutative,
		ranks: g.size, near: g.near, crowded: g.crowded, readable: g.readable, smallMax: g.smallMax, elemMax: g.elemMax,
	}
}

// choose returns the algorithm for an operation.
func (g *group) choose(op operation, bytes, elem int, commutative bool) algorithm {
	s := g.situation(op, bytes, elem, commutative)
	return g.take(&s)
}

// take returns the algorithm for a situation, and records the choice.
func (g *group) take(s *situation) algorithm {
	r := choose(s, g.override[s.op])
	if g.choices != nil {
		g.choices.note(s, r)
	}
	return r.alg
}

// shared returns the state of the shared-memory algorithms.
func (g *group) shared() (*node.Group, error) {
	if g.node != nil {
		return g.node, nil
	}
	n, err := node.New(node.Config{Rank: g.rank, Size: g.size, Crowded: g.crowded, Reader: reader(), Note: new(hugepages.Traffic).Note, Place: g.place, Open: g.open})
	g.node = n
	return n, err
}

// refuse names the operation, and where it was called, in its error.
func refuse(op operation, err error) error {
	return callsite.At(fmt.Errorf("collectives: %v: %w", op, err))
}

// begin starts a blocking operation: it announces this member's call before it chooses the
// algorithm. It is called once per operation, so that the numbers of operations agree at
// all members whichever algorithm they use. Unless it fails, end follows.
func (e entry) begin(c call) error {
	g := e.group
	if !atomic.CompareAndSwapUint32(&g.busy, 0, 1) {
		return g.inUse(c.op)
	}
	g.comm = e.view
	c.kind = e.kind
	said := c.statement()
	g.number++
	trail := g.trail.Follow(said)
	bears := label(trail, g.number)
	g.blocking.note(g.number, said, bears)
	g.label.Set(bears)
	g.watch.wake(g)
	if !g.near {
		return nil
	}
	n, err := g.shared()
	if err == nil {
		n.Enter(said, trail)
	}
	return err
}

// end finishes an operation that was begun. If the operation failed, the members are out of
// step, so the communicator is broken.
func (g *group) end(op operation, err error) error {
	if err == nil {
		processor.Store32(&g.busy, 0)
		return nil
	}
	if errors.Is(err, runtime.ErrInUse) {
		g.home.Break(err)
		return refuse(op, err)
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

// checkRoot returns an error unless root is a rank of the group.
func (g *group) checkRoot(root int) error {
	if root < 0 || root >= g.size {
		return rootError(root, g.size)
	}
	return nil
}

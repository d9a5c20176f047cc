package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Comm is a communicator: an ordered group of ranks and a space of messages of
// their own. Messages sent in one communicator are never received in another.
//
// A *Comm is a view: those of WithContext and the Private twin stand for the same
// communicator.
type Comm struct {
	engine *engine.Engine
	core   *commCore
	// ctx ends blocking calls; nil stands for context.Background.
	ctx context.Context
	// ranks are the world ranks of the members, nil when they are their ranks here.
	ranks []int
	// id is the engine's context of this view's messages.
	id uint32
	// rank and size are what Rank and Size return.
	rank, size int
	// twin is the Private view, the view itself if it is private.
	twin *Comm
}

// The contexts of a communicator in the engine: its number times contextStride
// plus one of these.
const (
	contextUser          = iota // the user's messages
	contextPrivate              // those of libraries, see Comm.Private
	contextControl              // those of Dup, Split and Create
	contextStream               // frames and credits of the user's streams
	contextPrivateStream        // those of libraries' streams
	contextStride               // how many there are
)

var _ = [1]struct{}{}[contextStride-flight.Contexts]

// commCore is what all views of a communicator share.
type commCore struct {
	world *World
	// number is agreed among the members; no other communicator of any of them
	// has it.
	number uint32
	// identity is the same at all members and that of no other communicator of the job, however
	// often the number is used again.
	identity uint64
	// name is how the communicator appears in diagnosis.
	name string
	// ranks are those of Comm, index finds a member by its world rank and is nil
	// when ranks is.
	ranks []int
	index map[int]int
	size  int
	// allies are the world ranks of this rank's own group in an Intercomm, where ranks are
	// those of the other one; else nil.
	allies []int
	// own is the communicator of this rank's group that belongs to an Intercomm; else nil. A
	// break of the Intercomm breaks it, too: operations on an Intercomm use both, and a rank
	// that has not begun one leaves the members of its group waiting on own.
	own *commCore
	// failure is why the communicator cannot be used: it was closed or broken; else nil.
	failure atomic.Pointer[commFailure]
	// announced is a break that another member has told, which a goroutine makes the failure, nil for none.
	announced atomic.Pointer[commFailure]
	// broken says that failure is, or was before Close, that it was broken.
	broken atomic.Bool
	// breaking is held while the communicator is broken, so that no part of that comes after
	// its end.
	breaking sync.Mutex
	// departed are the world ranks of the other members that have closed it; comms.mu guards
	// it.
	departed map[int]bool
	agreeing agreeing
	mourning mourning
	// topology says who the neighbors of each rank are; nil if there is none.
	topology topology
	// attributes belong to libraries.
	attributes attributes
	// check is that of the World, nil without one.
	check *check
}

// errDropped ends a send whose receiver has closed the communicator.
var errDropped = fmt.Errorf("%w by the receiver, which had not received the message", ErrCommClosed)

// commFailure boxes an error for an atomic pointer.
type commFailure struct{ err error }

// newComm makes a communicator. ranks are the world ranks of its members, rank is
// the caller's place among them.
func newComm(w *World, number uint32, name string, ranks []int, rank int) *Comm {
	core := newCore(w, number, name, ranks)
	w.comms.identify(core)
	w.comms.add(core)
	return core.view(context.Background(), w.engine, rank)
}

// newIntercomm makes the communicator of an Intercomm: ranks are the world ranks of the other
// group, allies those of the caller's, whose own communicator is local.
func newIntercomm(local *Comm, number uint32, name string, ranks, allies []int) *Comm {
	w := local.core.world
	core := newCore(w, number, name, ranks)
	core.allies, core.own = allies, local.core
	w.comms.identify(core)
	w.comms.add(core)
	made := core.view(context.Background(), w.engine, local.rank)
	if why, ok := errors.AsType[*BrokenError](made.Err()); ok { // by a member that was faster
		w.broken(core.own, why, nil)
	}
	return made
}

// newCore is what views of a communicator share.
func newCore(w *World, number uint32, name string, ranks []int) *commCore {
	core := &commCore{world: w, number: number, name: name, size: len(ranks), check: w.check}
	if !identity(ranks) {
		core.ranks = ranks
		core.index = Group{ranks}.index()
	}
	if number != 0 {
		w.check.opened(core, "nobody closed the communicator "+name+" made")
	}
	return core
}

// view returns a view and its private twin.
func (core *commCore) view(ctx context.Context, e *engine.Engine, rank int) *Comm {
	if ctx.Done() == nil {
		ctx = nil // it never ends, so it is handled as no context
	}
	views := new([2]Comm)
	for i := range views {
		views[i] = Comm{
			engine: e, core: core, ctx: ctx, ranks: core.ranks,
			id:   core.number*contextStride + uint32(i),
			rank: rank, size: core.size, twin: &views[contextPrivate],
		}
	}
	return &views[contextUser]
}

// identity reports whether every member has its world rank as its rank.
func identity(ranks []int) bool {
	for rank, world := range ranks {
		if rank != world {
			return false
		}
	}
	return true
}

// Rank returns this rank's number in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of members.
func (c *Comm) Size() int { return c.size }

// World returns the World the communicator belongs to.
func (c *Comm) World() *World { return c.core.world }

// WorldRank returns the world rank of a member, or Undefined if there is none of
// that number.
func (c *Comm) WorldRank(rank int) int {
	switch {
	case rank < 0 || rank >= c.size:
		return Undefined
	case c.ranks == nil:
		return rank
	default:
		return c.ranks[rank]
	}
}

// Name returns the communicator's name in diagnosis: "world", "world.dup",
// "world.split(2)" and so on.
func (c *Comm) Name() string { return c.core.name }

// String returns the name with rank and size.
func (c *Comm) String() string { return fmt.Sprintf("%s (%d of %d)", c.core.name, c.rank, c.size) }

// Group returns the members in order of their ranks.
func (c *Comm) Group() Group {
	if c.ranks != nil {
		return Group{c.ranks}
	}
	ranks := make([]int, c.size)
	for i := range ranks {
		ranks[i] = i
	}
	return Group{ranks}
}

// WithContext returns a view of the communicator whose blocking calls end with
// the context's error when ctx is done. A receive that ends this way loses no message.
func (c *Comm) WithContext(ctx context.Context) *Comm {
	view := c.core.view(ctx, c.engine, c.rank)
	if c.twin == c {
		return view.twin
	}
	return view
}

// Context returns the context of WithContext, or context.Background.
func (c *Comm) Context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// Close ends the communicator; attributes that are io.Closers are closed. Operations on it,
// on its views and on its Private twin fail afterwards, receives that wait end with
// ErrCommClosed, as do Agree and Shrink of other goroutines, and messages that no receive has matched are dropped: a send that waits to be
// matched ends with ErrCommClosed at the sender. Close is local and does not wait: operations
// under way should have ended. All members close a communicator; its number is used again
// when they have. The communicator of the World cannot be closed.
func (c *Comm) Close() error {
	if c == nil {
		return callsite.At(ErrComm)
	}
	if c.core.number == 0 {
		return callsite.At(fmt.Errorf("%w: the communicator of the World ends with World.Close", ErrArgument))
	}
	return callsite.At(c.core.end(&commFailure{ErrCommClosed}))
}

// end is Close for any communicator.
func (core *commCore) end(why *commFailure) error {
	if last := core.failure.Swap(why); last != nil && errors.Is(last.err, why.err) {
		return why.err
	}
	core.check.closed(core)
	err := core.attributes.close() // attributes may exchange questions with other members
	core.world.leaveComm(core)
	core.world.wake() // an Agree or Shrink of another goroutine
	return err
}

// closed reports whether this rank has closed the communicator.
func (core *commCore) closed() bool {
	f := core.failure.Load()
	return f != nil && errors.Is(f.err, ErrCommClosed)
}

// Err returns nil while the communicator can be used, else ErrCommClosed or a
// BrokenError.
func (c *Comm) Err() error {
	if c == nil {
		return ErrComm
	}
	if f := c.core.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// rankOf returns the rank of a world rank in the communicator. Members only.
func (c *Comm) rankOf(world int) int {
	if c.core.index == nil {
		return world
	}
	return c.core.index[world]
}

// members returns the world ranks of the members, not to be changed.
func (c *Comm) members() []int { return c.Group().ranks }

// has reports whether a world rank is a member, of either group of an Intercomm.
func (core *commCore) has(world int) bool {
	if core.index == nil && world < core.size {
		return true
	}
	_, ok := core.index[world]
	return ok || slices.Contains(core.allies, world)
}

// all returns the world ranks of the members, of both groups of an Intercomm.
func (core *commCore) all() []int {
	if core.ranks != nil {
		return append(slices.Clip(core.ranks), core.allies...)
	}
	return append(identityOrder(core.size), core.allies...)
}

// ready returns why the communicator cannot make others or share memory: it has ended, or its
// ranks are those of another group.
func (c *Comm) ready() error {
	if err := c.Err(); err != nil {
		return err
	}
	if c.core.allies != nil {
		return fmt.Errorf("%w: %s connects two groups", ErrComm, c.core.name)
	}
	return nil
}

// checkPeer refuses a rank that cannot be the destination of a message.
func (c *Comm) checkPeer(rank int) error {
	if rank < 0 || rank >= c.size {
		return fmt.Errorf("%w: %d in communicator %s of %d", ErrRank, rank, c.core.name, c.size)
	}
	return nil
}

// checkTag refuses a tag that cannot be sent.
func checkTag(tag int) error {
	if tag < 0 || tag > TagMax {
		return fmt.Errorf("%w: %d is not in 0..%d", ErrTag, tag, TagMax)
	}
	return nil
}

// failed converts the engine's error of an operation into the user's, with the source line
// of the call.
func (c *Comm) failed(err error) error { return callsite.At(c.reason(err)) }

// reason converts the ranks in the engine's error to those of the communicator. If the
// communicator has ended, its end replaces the errors that it caused.
func (c *Comm) reason(err error) error {
	switch e := err.(type) { //nolint:errorlint // the engine returns these bare, and only they are rewritten
	case *MemoryError:
		return &MemoryError{Source: c.rankOf(e.Source), Tag: e.Tag, Bytes: e.Bytes, Cause: e.Cause}
	case *TruncatedError:
		return &TruncatedError{Source: c.rankOf(e.Source), Tag: e.Tag, Sent: e.Sent, Room: e.Room}
	case *TypeMismatchError:
		return &TypeMismatchError{Source: c.rankOf(e.Source), Tag: e.Tag, Sent: e.Sent, Want: e.Want}
	case *LabelError:
		return &LabelError{Source: c.rankOf(e.Source), Tag: e.Tag, Sent: e.Sent, Want: e.Want}
	}
	if f := c.core.failure.Load(); f != nil {
		return lossBesides(err, f.err)
	}
	if errors.Is(err, engine.ErrForgotten) {
		if f := c.core.announced.Load(); f != nil {
			return f.err // the receiver had broken the communicator before it closed it
		}
		return errDropped
	}
	// A context that ended with a cause of its own: errors.Is finds its error as well.
	var canceled *engine.CancelError
	if c.ctx != nil && errors.As(err, &canceled) && canceled.Cause != nil && !errors.Is(err, c.ctx.Err()) {
		return fmt.Errorf("%w: %w", c.ctx.Err(), err)
	}
	return err
}

// lossBesides joins the end of a communicator with the loss of the rank that ended the
// operation: errors.As finds both, whichever this rank detected first.
func lossBesides(err, end error) error {
	var met, known *PeerError
	if !errors.As(err, &met) || errors.As(end, &known) && known.Rank == met.Rank {
		return end
	}
	return fmt.Errorf("%w: %w", err, end)
}

// sortedBy returns indices 0..n-1 in stable order of compare.
func sortedBy(n int, compare func(a, b int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
}

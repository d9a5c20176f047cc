package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/flight"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Comm is a communicator: an ordered group of ranks with a message space of its own. Messages sent
// in one communicator are never received in another.
//
// A *Comm is a view. WithContext and Private return other views of the same communicator.
type Comm struct {
	engine *engine.Engine
	core   *commCore
	// ctx ends blocking calls; nil stands for context.Background.
	ctx context.Context
	// ranks are the world ranks of the members; nil if each member's rank is its world rank.
	ranks []int
	// id is the engine's context for the messages of this view.
	id uint32
	// rank and size are what Rank and Size return.
	rank, size int
	// twin is the Private view; the twin of a private view is the view itself.
	twin *Comm
}

// A communicator has contextStride contexts in the engine. Each context is the communicator's number
// times contextStride plus one of these constants.
const (
	contextUser          = iota // the user's messages
	contextPrivate              // messages of libraries, see Comm.Private
	contextControl              // messages of the calls that make communicators, such as Dup, and of NewShared
	contextStream               // frames and credits of the user's streams
	contextPrivateStream        // frames and credits of libraries' streams
	contextStride               // number of contexts
)

// This line does not compile if the flight recorder assumes another number of contexts of a communicator.
var _ = [1]struct{}{}[contextStride-flight.Contexts]

// The contexts of every communicator lie below contextTask. Otherwise this constant would be negative and not compile.
const _ = uint32(contextTask - 1 - (bootstrap.LastShrunk*contextStride + contextStride - 1))

// commCore is the state that all views of a communicator share.
type commCore struct {
	world *World
	// number is the number on which the members have agreed, or which the launcher has given (Shrink). No
	// member has another communicator with this number at the same time.
	number uint32
	// identity is the same at all members. It is a hash of 64 bits (identityOf). Two communicators of the job have
	// different identities, unless their hashes collide, even if one reuses the number of the other.
	identity uint64
	// name is the name of the communicator in diagnosis.
	name string
	// ranks is the same slice as Comm.ranks. index maps the world rank of a member to its rank; it
	// is nil if ranks is nil.
	ranks []int
	index map[int]int
	size  int
	// In an Intercomm, allies are the world ranks of this rank's own group, and ranks are the world
	// ranks of the other group. In any other communicator, allies is nil.
	allies []int
	// In an Intercomm, own is the communicator of this rank's own group. In any other communicator, own is nil. A
	// break of the Intercomm also breaks own, because operations on an Intercomm use both communicators. Members of
	// the group may wait on own for a rank that does not begin the operation.
	own *commCore
	// failure tells why the communicator cannot be used: it was closed or broken. It is nil while the
	// communicator can be used.
	failure atomic.Pointer[commFailure]
	// announced is a break that another member has reported and that a goroutine stores in failure, or
	// has stored there; nil if there is none.
	announced atomic.Pointer[commFailure]
	// broken is true once the communicator has been broken, even after Close has replaced failure.
	broken atomic.Bool
	// notified is true if this rank has sent messages that notify the other members of the break. breaking guards it.
	notified bool
	// breaking is held while the communicator is being broken and while Close ends its contexts, so
	// that the contexts do not end in the middle of a break.
	breaking sync.Mutex
	// departed are the world ranks of the other members that have closed the communicator. comms.mu
	// guards it.
	departed map[int]bool
	agreeing agreeing
	mourning mourning
	// leftovers are the streams that this rank has left early.
	leftovers leftovers
	// topology returns the neighbors of each rank; nil if the Comm has no topology.
	topology topology
	// attributes are values that libraries have stored.
	attributes attributes
	// check is the check of the World; nil without GORUN_CHECK=1.
	check *check
}

// errDropped is the error of a send whose receiver has closed the communicator.
var errDropped = fmt.Errorf("%w by the receiver, which had not received the message", ErrCommClosed)

// commFailure boxes an error for an atomic pointer.
type commFailure struct{ err error }

// newComm makes a communicator. The argument ranks has the world ranks of its members, and rank is the
// caller's index in ranks.
func newComm(w *World, number uint32, name string, ranks []int, rank int) *Comm {
	core := newCore(w, number, name, ranks)
	w.comms.identify(core)
	w.comms.add(core)
	return core.view(context.Background(), w.engine, rank)
}

// newIntercomm makes the communicator of an Intercomm. ranks are the world ranks of the other
// group, allies are the world ranks of the caller's group, and local is the communicator of the
// caller's group.
func newIntercomm(local *Comm, number uint32, name string, ranks, allies []int) *Comm {
	w := local.core.world
	core := newCore(w, number, name, ranks)
	core.allies, core.own = allies, local.core
	w.comms.identify(core)
	w.comms.add(core)
	made := core.view(context.Background(), w.engine, local.rank)
	if why, ok := errors.AsType[*BrokenError](made.Err()); ok { // a faster member has broken it
		w.broken(core.own, why, nil)
	}
	return made
}

// newCore returns the state that the views of a communicator share.
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

// view returns a new view for the user, with its private twin.
func (core *commCore) view(ctx context.Context, e *engine.Engine, rank int) *Comm {
	if ctx == context.Background() {
		ctx = nil // this context never ends, so calls need no check of it
	}
	return core.fill(ctx, new([2]Comm), e, rank)
}

// fill makes the first element of views a view for the user, and the second its private twin. It returns the first.
func (core *commCore) fill(ctx context.Context, views *[2]Comm, e *engine.Engine, rank int) *Comm {
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

// Rank returns this rank's number in the communicator; in an Intercomm, in its own group.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of members; in an Intercomm, the size of the other group.
func (c *Comm) Size() int { return c.size }

// World returns the World to which the communicator belongs.
func (c *Comm) World() *World { return c.core.world }

// WorldRank returns the world rank of the member with this rank, or Undefined if there is no such
// member. In an Intercomm, it is a member of the other group.
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

// Group returns the members in order of their ranks; in an Intercomm, the members of the other group.
func (c *Comm) Group() Group {
	if c.ranks != nil {
		return Group{c.ranks}
	}
	return Group{identityOrder(c.size)}
}

// WithContext returns a view of the communicator whose blocking calls end with the error of ctx
// when ctx is done. A receive that ends with the error of ctx loses no message.
func (c *Comm) WithContext(ctx context.Context) *Comm {
	view := c.core.view(ctx, c.engine, c.rank)
	if c.twin == c {
		return view.twin
	}
	return view
}

// Context returns the context.Context that was passed to WithContext, or context.Background if there is none.
func (c *Comm) Context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// Close ends the communicator and closes its attributes that are io.Closers. Afterwards operations on the
// communicator, on its views and on its Private twin fail. Receives that wait, and calls of Agree and Shrink in other
// goroutines, end with ErrCommClosed. Messages that no receive has matched are discarded; a send that waits for its
// match ends with ErrCommClosed at the sender. Close is local: it does not wait for Close at other members. There is
// one exception: an attribute that has found a mistake of the program may ask another member about it (Inquire). The
// program should wait for its operations before it calls Close. All members close a communicator; its number may be
// reused when all members have closed it. The communicator of the World cannot be closed.
func (c *Comm) Close() error {
	if c == nil {
		return callsite.At(ErrComm)
	}
	if c.core.number == 0 {
		return callsite.At(fmt.Errorf("%w: the communicator of the World ends with World.Close", ErrArgument))
	}
	return callsite.At(c.core.end(&commFailure{ErrCommClosed}))
}

// end does the work of Close for any communicator; why becomes its failure. The cause of a break may
// wrap why.err, so end and closed compare the errors themselves.
func (core *commCore) end(why *commFailure) error {
	last := core.failure.Swap(why)
	if last != nil && last.err == why.err { //nolint:errorlint // see above
		return why.err
	}
	core.check.closed(core)
	err := core.attributes.close() // attributes may still send inquiries to other members
	core.world.leaveComm(core, last)
	core.world.wake() // ends an Agree or Shrink of another goroutine
	return err
}

// closed reports whether this rank has closed the communicator.
func (core *commCore) closed() bool {
	f := core.failure.Load()
	return f != nil && f.err == ErrCommClosed //nolint:errorlint // see end
}

// Err returns nil while the communicator can be used. Otherwise it returns ErrCommClosed, a BrokenError,
// ErrClosed for World.Comm after World.Close, or ErrComm if c is nil.
func (c *Comm) Err() error {
	if c == nil {
		return ErrComm
	}
	if f := c.core.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// rankOf returns the rank that a member has in the communicator, given its world rank. If index is not nil, it returns
// Undefined for a world rank that is no member, such as the 0 in the engine's status of a receive without a message.
func (c *Comm) rankOf(world int) int {
	if c.core.index == nil {
		return world
	}
	if rank, member := c.core.index[world]; member {
		return rank
	}
	return Undefined
}

// members returns the world ranks of the members that Group returns. The caller must not change the slice.
func (c *Comm) members() []int { return c.Group().ranks }

// has reports whether a world rank is a member. In an Intercomm, it may be a member of either group.
func (core *commCore) has(world int) bool {
	if core.index == nil && world < core.size {
		return true
	}
	_, ok := core.index[world]
	return ok || slices.Contains(core.allies, world)
}

// all returns the world ranks of the members, in a new slice. In an Intercomm, it covers both groups.
func (core *commCore) all() []int {
	if core.ranks != nil {
		return slices.Concat(core.ranks, core.allies)
	}
	return append(identityOrder(core.size), core.allies...)
}

// ready returns an error if no communicator and no shared memory can be made from c: if c is nil, closed or broken, or
// is the Comm of an Intercomm.
func (c *Comm) ready() error {
	if err := c.Err(); err != nil {
		return err
	}
	if c.core.allies != nil {
		return fmt.Errorf("%w: %s connects two groups", ErrComm, c.core.name)
	}
	return nil
}

// checkPeer returns ErrRank if no member has this rank. It also returns ErrRank for ProcNull.
func (c *Comm) checkPeer(rank int) error {
	if rank < 0 || rank >= c.size {
		return fmt.Errorf("%w: %d in communicator %s of %d", ErrRank, rank, c.core.name, c.size)
	}
	return nil
}

// checkTag returns an error if messages cannot be sent with this tag.
func checkTag(tag int) error {
	if tag < 0 || tag > TagMax {
		return fmt.Errorf("%w: %d is not in 0..%d", ErrTag, tag, TagMax)
	}
	return nil
}

// failed converts the engine's error of an operation into the error that the user gets, with the
// source line of the call.
func (c *Comm) failed(err error) error { return callsite.At(c.reason(err)) }

// reason returns the user's error for an error of the engine. In an error about a message, Source is a world rank, and
// reason replaces it by the rank in the communicator. Any other error on a communicator that was closed or broken is a
// consequence of the close or of the break. So reason returns the error of the close or of the break (see lossBesides).
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
			return f.err // the receiver broke the communicator before it closed it
		}
		return errDropped
	}
	// If the context.Context has ended with a cause of its own, errors.Is must find the error of the context, too.
	// A CancelError does not prove that the context has ended: a call in an inline handler gets one with ErrInline.
	var canceled *engine.CancelError
	if c.ctx != nil && errors.As(err, &canceled) && canceled.Cause != nil {
		if end := c.ctx.Err(); end != nil && !errors.Is(err, end) {
			return fmt.Errorf("%w: %w", end, err)
		}
	}
	return err
}

// lossBesides returns end, the error of a communicator that was closed or broken. If err is the
// loss of a rank that end does not name, lossBesides joins err and end. Then errors.As finds both
// errors, no matter which of them this rank detected first.
func lossBesides(err, end error) error {
	var met, known *PeerError
	if !errors.As(err, &met) || errors.As(end, &known) && known.Rank == met.Rank {
		return end
	}
	return fmt.Errorf("%w: %w", err, end)
}

// sortedBy returns the indices 0..n-1, stably sorted by compare.
func sortedBy(n int, compare func(a, b int) int) []int {
	order := identityOrder(n)
	slices.SortStableFunc(order, compare)
	return order
}

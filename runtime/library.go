package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Private returns the communicator's twin: a view with the same group and context.Context, but a
// message space of its own. Libraries such as package collectives use the twin, so that the
// libraries' messages never match the user's receives. Private needs no communication and returns
// the same *Comm each time. Private of the twin returns the twin.
func (c *Comm) Private() *Comm { return c.twin }

// Oversubscribed reports whether this node has more ranks than processors that they may
// use.
func (c *Comm) Oversubscribed() bool {
	return c.core.world.LocalSize() > c.core.world.Processors()
}

// Remote reports whether the communicator is the Comm of an Intercomm. The ranks of such a Comm are
// the ranks of the other group.
func (c *Comm) Remote() bool { return c != nil && c.core.allies != nil }

// Element returns nil if T can be the type of the elements of a message. Otherwise it returns an ElementTypeError,
// which names the type. If a field of the type is the reason, the error names this field, too.
func Element[T any]() error { return elementOf[T]().err }

// Attribute returns the value that this communicator stores under key. If there is no value yet,
// Attribute calls create and stores the result. Views and the Private twin share the attributes.
// While one goroutine runs create, other goroutines that ask for the same key wait. If create
// fails, nothing is stored. Comm.Close closes the values that are io.Closers, in the reverse order
// of the first use of their keys. World.Close does this for World.Comm, and World.Resume for all open
// communicators of a World that it leaves. With GORUN_EXPLAIN, World.Close calls the Explainers among
// the attributes of World.Comm. Keys are compared like keys of maps; define a type for them, as for
// context.WithValue.
func (c *Comm) Attribute(key any, create func() (any, error)) (any, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return c.core.attributes.get(key, create)
}

// NewRequest runs fn on another goroutine and returns a Request for it. fn gets a view of c whose
// context.Context also ends when the request is canceled. Wait returns fn's error. A panic in fn is a
// panic of the rank. The goroutine may run other such functions later, so fn must not leave the
// goroutine locked to its thread. The goroutine has no labels of the profiler (runtime/pprof).
//
// A Wait for this Request does not poll: the goroutine of fn polls while fn waits for messages.
//
// When fn has returned, the rank sends itself a message, which completes the request. So WaitAny,
// TestAny and similar functions treat this Request like the Request of a receive.
func NewRequest(c *Comm, fn func(c *Comm) error) Request {
	return newRequest(c, nil, nil, fn, false)
}

// NewRequestUsing is NewRequest for a function that accesses memory of the program while it runs.
// The argument reads is the slice that the function reads, and the argument writes is the slice
// that it changes. gorun -check reports accesses that conflict with other requests. If the program
// changes the slice reads before Wait or Test has returned the result, gorun -check reports this, too.
//
// If Wait is called before the other goroutine has begun to run fn, Wait runs fn itself, which saves
// two switches between goroutines. Then a panic in fn unwinds through Wait, Wait polls, and the labels of the profiler
// are those of the caller. So fn must end when its context.Context ends, and must not call runtime.Goexit.
func NewRequestUsing(c *Comm, reads, writes []byte, fn func(c *Comm) error) Request {
	return newRequest(c, reads, writes, fn, true)
}

// newRequest implements NewRequest and NewRequestUsing. The argument lent is true if Wait may run fn.
func newRequest(c *Comm, reads, writes []byte, fn func(c *Comm) error, lent bool) Request {
	if err := c.Err(); err != nil {
		return unstarted(callsite.At(err))
	}
	t := newTask(c, fn)
	t.lent = lent
	t.rest.watched = c.core.world.check.startTask(reads, writes)
	r := Request{comm: c, rest: &t.rest, operation: c.engine.Irecv(t.end, 0, nil)}
	c.engine.Go(&t.work)
	return r
}

// NewPersistent returns a Persistent. Start and StartAll call the function start to start the
// operation. They do not call start after Persistent.Close, or before Wait or Test has returned the
// result of the previous start.
func NewPersistent(start func() Request) *Persistent { return &Persistent{launch: start} }

// Break marks the communicator as broken. Operations on it, on its views and on its Private twin,
// including those under way, end with an error in which errors.Is finds ErrCommBroken and, at this
// rank, cause. They end at this rank at once, and at the other members as soon as the notice of the break
// arrives. A collective operation calls Break when it gives up at this rank. Otherwise the members
// that continue would wait for ever or match wrong messages. If several members call Break, only the
// first Break of which a member learns counts at that member. A nil cause stands for ErrRevoked. Other
// members get the text of cause; if it is longer than 242 bytes, they may get only its beginning. If
// cause is a PeerError, they also get a PeerError of the lost rank.
// If this rank has closed the communicator, Break still notifies the other members. The reason is that Close may
// have ended a collective operation of another goroutine, and the other members may have begun this operation.
func (c *Comm) Break(cause error) {
	if c == nil || c.Broken() {
		return
	}
	if cause == nil {
		cause = ErrRevoked
	}
	w := c.core.world
	origin := w.Rank()
	if b, ok := errors.AsType[originator](cause); ok {
		origin = b.FailureOrigin()
	}
	notice := breakNotice(w.Rank(), origin, cause)
	if c.Err() != nil {
		w.revoke(c.core, notice)
		return
	}
	w.broken(c.core, &BrokenError{Comm: c.core.name, Rank: c.rank, Cause: cause, member: w.Rank(), origin: origin}, notice)
}

// Broken reports whether a member has broken the communicator, as far as this rank knows. It also returns true if the
// World of the communicator has ended with the loss of a rank (World.Resume). Close does not change the result.
func (c *Comm) Broken() bool { return c != nil && c.core.broken.Load() }

package runtime

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Private returns the communicator's twin: the same group and context.Context, and messages
// of its own. Libraries such as package collectives use it, so that their messages never
// match the user's receives. It is the same *Comm each time, needs no communication, and
// its own Private is itself.
func (c *Comm) Private() *Comm { return c.twin }

// Oversubscribed reports whether the ranks of this node outnumber the processors
// they may use.
func (c *Comm) Oversubscribed() bool {
	return c.core.world.LocalSize() > c.core.world.Processors()
}

// Remote reports whether the ranks of the communicator are those of another group: it is that of
// an Intercomm.
func (c *Comm) Remote() bool { return c != nil && c.core.allies != nil }

// Element returns nil if values of type T can be sent in messages, else an ElementTypeError
// that names the field in the way.
func Element[T any]() error { return elementOf[T]().err }

// Attribute returns the value that belongs to key in this communicator, and makes it with
// create when there is none yet. Views and the Private twin share the attributes.
// Goroutines that ask for one key at the same time wait for the first one's create; when it
// fails nothing is kept. Values that are io.Closers are closed by Comm.Close, the latest first;
// Explainers of World.Comm are called at its end. Keys are compared like those of maps;
// define a type for them, as for those of context.WithValue.
func (c *Comm) Attribute(key any, create func() (any, error)) (any, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return c.core.attributes.get(key, create)
}

// NewRequest runs fn on a goroutine of its own with a view of c whose context
// ends when the request is canceled, and returns its request. Wait returns fn's
// error. A panic in fn is a panic of the rank.
//
// The end of fn is a message of the rank to itself, so that WaitAny and its variants need
// no support for goroutines.
func NewRequest(c *Comm, fn func(c *Comm) error) Request {
	return NewRequestUsing(c, nil, nil, fn)
}

// NewRequestUsing is NewRequest for a function that reads and writes memory of the program until it returns. gorun
// -check compares that memory with that of other requests, and looks whether what is read has changed.
func NewRequestUsing(c *Comm, reads, writes []byte, fn func(c *Comm) error) Request {
	if err := c.Err(); err != nil {
		return failedRequest(callsite.At(err))
	}
	ctx, cancel := context.WithCancel(c.Context())
	t := &task{done: make(chan struct{}), cancel: cancel}
	w := c.core.world
	end := engine.Match{Context: contextTask, Peer: w.Rank(), Tag: int(w.tasks.Add(1) & engine.TagMax)}
	r := Request{comm: c, rest: &rest{task: t, watched: w.check.startTask(reads, writes)}, operation: c.engine.Irecv(end, 0, nil, 0)}
	go func() {
		defer func() {
			cancel()
			close(t.done)
			// It fails only when the engine has ended, and the receive with it.
			_ = c.engine.Send(context.Background(), end, 0, nil, engine.Standard, 0)
		}()
		t.err = w.guard(func() error { return fn(c.WithContext(taskContext{ctx, c.Context()})) })
	}()
	return r
}

// NewPersistent returns an operation that start starts, each time that Start or StartAll is
// called. It is not called while an operation that it has started is under way.
func NewPersistent(start func() Request) *Persistent { return &Persistent{launch: start} }

// Break marks the communicator as broken: operations on it, on its views and on its Private
// twin, those under way included, end with an error that is ErrCommBroken and cause, at
// this rank at once and at the other members as soon as the notice arrives. Collective
// operations call it when they are abandoned, because members that continue would wait for
// ever or match wrong messages. Only the first Break of a communicator counts. Elsewhere
// the cause is its text, cut after some 250 bytes, and the PeerError of the rank that was
// lost if it is one. After a Close at this rank, which may have ended an operation of another
// goroutine that other members have begun, these are notified still.
func (c *Comm) Break(cause error) {
	if c == nil || c.Broken() {
		return
	}
	w := c.core.world
	origin := w.Rank()
	if b, ok := errors.AsType[originator](cause); ok {
		origin = b.FailureOrigin()
	}
	notice := appendCause(binary.LittleEndian.AppendUint32([]byte{noticeBreak}, uint32(origin)), cause)
	if c.Err() != nil {
		w.revoke(c.core, notice)
		return
	}
	w.broken(c.core, &BrokenError{Comm: c.core.name, Rank: c.rank, Cause: cause, origin: origin}, notice)
}

// Broken reports whether a member broke the communicator, also when it was closed since.
func (c *Comm) Broken() bool { return c.core.broken.Load() }

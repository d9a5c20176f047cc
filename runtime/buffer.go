package runtime

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// ErrBuffer is the error of using a Buffer that was given away or closed. It is also the error of using a Buffer
// of another World, for example of an earlier generation of the job.
var ErrBuffer = errors.New("buffer does not belong to the caller any more")

// Buffer is memory whose ownership can be transferred: SendBuffer transfers it to another rank. SendBuffer does not
// copy the bytes of a Buffer of Alloc if both ranks are on one node. A Buffer comes from Alloc or with a Message, and
// belongs to one goroutine at a time.
//
//	Buffer of          memory of     ends with               memory then goes to
//	Alloc              this rank     Close, SendBuffer       this rank after Close, the receiver after SendBuffer
//	a Message          its sender    Close, SendBuffer       its sender
//
// The memory of a received Message belongs to its sender only if two conditions hold. The sender is on this node, and
// it has called SendBuffer or sent a Message to an actor of this rank. Any other received Message has new memory of
// this process.
// NewMessage ends a Buffer, too: its memory then belongs to the new Message.
//
// After its end a Buffer is dead: View and Bytes panic, SendBuffer returns ErrBuffer. With
// GORUN_DEBUG=1, after a Buffer of Alloc was given away or closed, an access to its memory through any slice
// faults at this rank. If ranks share a process, such an access does not fault.
type Buffer struct {
	world *World
	// lease is the memory. If the memory came with a message, only lease.Bytes is set.
	lease arena.Lease
	// message is the message that the memory came with; nil if the memory is this rank's own.
	message *engine.Message
	// end records how the Buffer ended. dest is the world rank to which it was sent.
	end  bufferEnd
	dest int32
}

// bufferEnd is how a Buffer ended.
type bufferEnd uint8

const (
	bufferLives bufferEnd = iota
	bufferReleased
	bufferSent
	bufferMessage // NewMessage has made it a Message
)

// Alloc returns a Buffer of n elements. The elements are not cleared: memory is reused, so that the
// page faults of the first access occur only once. The first element is aligned to a cache line.
//
// On Linux, Alloc checks a Buffer of more than 64 MiB. It returns an error if the Buffer is longer than the memory of
// the machine or the limit of the process's cgroup. It does not count memory that is in use, because the system gives
// each page only at its first access. If no memory is left by then, the access ends the process, as with Go's heap.
// The signal is SIGKILL or, if the machine limits committed memory (vm.overcommit_memory=2), SIGBUS. On other systems,
// the memory of the machine is not known, and Go ends the process if it gets no memory.
func Alloc[T any](w *World, n int) (*Buffer, error) {
	e := elementOf[T]()
	if e.err != nil {
		return nil, callsite.At(e.err)
	}
	if n < 0 || e.size > 0 && n > math.MaxInt/e.size {
		return nil, callsite.At(fmt.Errorf("%w: a buffer of %d elements", ErrArgument, n))
	}
	b, err := w.alloc(n * e.size)
	if err == nil {
		w.check.opened(b, "nobody closed the Buffer allocated")
	}
	return b, err
}

// alloc returns a Buffer of n bytes.
func (w *World) alloc(n int) (*Buffer, error) {
	lease, err := w.memory.alloc(n)
	if err != nil {
		return nil, callsite.At(fmt.Errorf("no memory for a Buffer of %d bytes: %w", n, err))
	}
	return &Buffer{world: w, lease: lease}, nil
}

// View returns the buffer as a slice of whole elements of type T. The slice must not be used after
// the Buffer's end. View panics if the Buffer is dead or T cannot be an element type.
func View[T any](b *Buffer) []T { return elementsIn[T](b.Bytes()) }

// Bytes returns the buffer as bytes. The slice must not be used after the Buffer's end. Bytes
// panics if the Buffer is dead.
func (b *Buffer) Bytes() []byte {
	if b.end != bufferLives {
		panic(b.dead())
	}
	return b.lease.Bytes
}

// Close returns the memory to this rank's arena, or to the rank that sent it. Close of a dead
// Buffer does nothing, so a call of Close can be deferred.
func (b *Buffer) Close() {
	if b.end != bufferLives {
		return
	}
	b.finish(bufferReleased)
	if b.message != nil {
		b.message.Release()
		return
	}
	// Only this Buffer has the lease, and the Buffer was alive, so Free cannot fail.
	_ = b.world.memory.arena.Free(b.lease)
}

// finish marks the Buffer as dead.
func (b *Buffer) finish(how bufferEnd) {
	b.end, b.lease.Bytes = how, nil
	b.world.check.closed(b)
}

// sent marks the Buffer as sent to a world rank.
func (b *Buffer) sent(dest int) {
	b.finish(bufferSent)
	b.dest = int32(dest)
}

// dead returns the error of using a dead Buffer.
func (b *Buffer) dead() error {
	switch b.end {
	case bufferSent:
		return fmt.Errorf("%w: it was sent to world rank %d", ErrBuffer, b.dest)
	case bufferMessage:
		return fmt.Errorf("%w: NewMessage has made it a Message", ErrBuffer)
	default:
		return fmt.Errorf("%w: it was closed", ErrBuffer)
	}
}

// SendBuffer sends the whole buffer as elements of type T and transfers its memory to the receiver.
// If the receiver is on the same node, only the offset of the memory is sent. SendBuffer does not wait
// until a receive matches the message, but may wait for space in the lane to the receiver. When it has
// returned nil, the Buffer is dead. The memory returns to this rank when the receiver releases it or,
// between nodes, when the receiver has received the bytes. Any receive can match the message. On the
// same node, RecvMessage receives it without a copy. After an error the Buffer still belongs to the
// caller. The error is ErrBuffer if the Buffer belongs to another World than c.
//
// The memory of a Buffer that came with a message may belong to another rank. Therefore SendBuffer first
// copies the contents of any such Buffer to memory of this rank's arena.
func SendBuffer[T any](c *Comm, b *Buffer, dest, tag int) error {
	return c.sendBuffer(elementOf[T](), b, dest, tag)
}

// sendBuffer is SendBuffer for elements of type e.
func (c *Comm) sendBuffer(e *element, b *Buffer, dest, tag int) error {
	if b == nil || b.end != bufferLives {
		return b.refuse()
	}
	to, err := c.destination(e, dest, tag)
	if err != nil {
		return err
	}
	if b.world != c.core.world {
		return callsite.At(fmt.Errorf("%w: its World is not that of the communicator", ErrBuffer))
	}
	if e.size == 0 && len(b.lease.Bytes) > 0 || e.size > 0 && len(b.lease.Bytes)%e.size != 0 {
		return callsite.At(fmt.Errorf("%w: %d bytes are not a whole number of elements of %d bytes", ErrArgument, len(b.lease.Bytes), e.size))
	}
	if to.Peer == ProcNull {
		b.Close()
		return nil
	}
	e.layout.ClearHoles(b.lease.Bytes)
	if b.message != nil {
		err = c.forward(to, e, b)
	} else {
		err = c.handOver(to, e, b)
	}
	if err != nil {
		return c.failed(err)
	}
	b.sent(to.Peer)
	return nil
}

// destination checks the arguments of a send of a Buffer, and returns the destination for the
// engine. The Peer of the result may be ProcNull.
func (c *Comm) destination(e *element, dest, tag int) (engine.Match, error) {
	if !c.ordinary(e, dest, tag) {
		o, err := c.outgoing(e.bare(), nil, dest, tag)
		return o.to, err
	}
	if c.ranks != nil {
		dest = c.ranks[dest]
	}
	return engine.Match{Context: c.id, Peer: dest, Tag: tag}, nil
}

// refuse returns the error of sending a Buffer that is nil or dead.
func (b *Buffer) refuse() error {
	if b == nil {
		return callsite.At(fmt.Errorf("%w: no buffer", ErrArgument))
	}
	return callsite.At(b.dead())
}

// handOver transfers the memory of b, which is this rank's own, to a peer. It does not end b.
func (c *Comm) handOver(to engine.Match, e *element, b *Buffer) error {
	a := c.core.world.memory.arena
	given, err := a.Give(b.lease, to.Peer)
	if err != nil {
		return err
	}
	reads, err := c.engine.SendHandover(c.ctx, to, e.typ, a.Key(given.Off), b.lease.Bytes)
	if err != nil {
		b.lease, _ = a.Regain(given) // the memory is in flight, so Regain cannot fail
		return err
	}
	return a.Confirm(given, reads)
}

// forward sends a Buffer that came with a message: it hands over a copy in this rank's arena.
func (c *Comm) forward(to engine.Match, e *element, b *Buffer) error {
	own, err := c.core.world.alloc(len(b.lease.Bytes))
	if err != nil {
		return err
	}
	copy(own.lease.Bytes, b.lease.Bytes)
	if err := c.handOver(to, e, own); err != nil {
		own.Close()
		return err
	}
	b.message.Release()
	return nil
}

// bare returns e if e is plain, else a copy of e that describes elements without padding. It is for memory whose
// padding the caller itself sets to zero.
func (e *element) bare() *element {
	if e.plain {
		return e
	}
	bare := *e
	bare.plain = bare.err == nil
	return &bare
}

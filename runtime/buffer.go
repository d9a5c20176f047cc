package runtime

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// ErrBuffer refuses a Buffer that was given away or closed.
var ErrBuffer = errors.New("buffer does not belong to the caller any more")

// Buffer is memory that can change hands: SendBuffer gives it to another rank
// without copying it when both are on one node. It comes from Alloc or with a
// Message, and belongs to one goroutine at a time.
//
//	Buffer of          memory of     ends with               then it goes to
//	Alloc              this rank     Close, SendBuffer       this rank, the receiver
//	a Message          its sender    Close, SendBuffer       its sender
//
// After its end a Buffer is dead: View and Bytes panic, SendBuffer returns ErrBuffer. With
// GORUN_DEBUG=1 memory of this rank that is used after it was given away or closed
// faults, through whatever slice it is accessed; ranks of one process are exempt.
type Buffer struct {
	world *World
	// lease is the memory, and more than its bytes if it is this rank's own.
	lease arena.Lease
	// message is the memory if it came with a message.
	message *engine.Message
	// end says how the Buffer ended, dest where it went if it was sent.
	end  bufferEnd
	dest int32
}

// bufferEnd is how a Buffer ended.
type bufferEnd uint8

const (
	bufferLives bufferEnd = iota
	bufferReleased
	bufferSent
)

// Alloc returns a Buffer of n elements. They are not cleared: memory is used
// again, so that its pages need not be made twice. The first element is aligned to
// a cache line.
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

// alloc is Alloc of bytes.
func (w *World) alloc(n int) (*Buffer, error) {
	lease, err := w.memory.alloc(n)
	if err != nil {
		return nil, callsite.At(err)
	}
	return &Buffer{world: w, lease: lease}, nil
}

// View returns the buffer as whole elements of type T. The slice must not be used
// after the Buffer's end. It panics if the Buffer is dead or T cannot be an
// element.
func View[T any](b *Buffer) []T { return SharedView[T](b.Bytes()) }

// Bytes returns the buffer as bytes, like View.
func (b *Buffer) Bytes() []byte {
	if b.end != bufferLives {
		panic(b.dead())
	}
	return b.lease.Bytes
}

// Close gives the memory back: to this rank's arena, or to the rank that sent
// it. Close of a dead Buffer does nothing, so it can be deferred.
func (b *Buffer) Close() {
	if b.end != bufferLives {
		return
	}
	b.finish(bufferReleased)
	if b.message != nil {
		b.message.Release()
		return
	}
	// Only this Buffer has the lease, and it was alive, so this cannot fail.
	_ = b.world.memory.arena.Free(b.lease)
}

// finish ends the Buffer.
func (b *Buffer) finish(how bufferEnd) {
	b.end, b.lease.Bytes = how, nil
	b.world.check.closed(b)
}

// dead is the error of using a dead Buffer.
func (b *Buffer) dead() error {
	if b.end == bufferSent {
		return fmt.Errorf("%w: it was sent to rank %d", ErrBuffer, b.dest)
	}
	return fmt.Errorf("%w: it was closed", ErrBuffer)
}

// SendBuffer sends the whole buffer as elements of type T and gives its memory away: on a
// node only its offset is sent. It returns when the message is on its way, and never waits
// for the receiver; the Buffer is dead then, and the memory comes back when the receiver
// releases it or, between nodes, has its bytes. Any receive can take the message,
// RecvMessage without a copy. After an error the Buffer is still the caller's.
//
// A Buffer that came with a message belongs to another rank, so it is copied to
// memory of this rank first.
func SendBuffer[T any](c *Comm, b *Buffer, dest, tag int) error {
	return c.sendBuffer(elementOf[T](), b, dest, tag)
}

// sendBuffer is SendBuffer for one element.
func (c *Comm) sendBuffer(e *element, b *Buffer, dest, tag int) error {
	if b == nil || b.end != bufferLives {
		return b.refuse()
	}
	to, err := c.destination(e, dest, tag)
	if err != nil {
		return err
	}
	if e.size == 0 && len(b.lease.Bytes) > 0 || e.size > 0 && len(b.lease.Bytes)%e.size != 0 {
		return callsite.At(fmt.Errorf("%w: %d bytes are not whole elements of %d", ErrArgument, len(b.lease.Bytes), e.size))
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
	b.finish(bufferSent)
	b.dest = int32(dest)
	return nil
}

// destination checks the address of a Buffer of elements. Peer may be ProcNull.
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

// refuse is the error of sending a nil Buffer.
func (b *Buffer) refuse() error {
	if b == nil {
		return callsite.At(fmt.Errorf("%w: no buffer", ErrArgument))
	}
	return callsite.At(b.dead())
}

// handOver gives the memory of b, this rank's own, to a peer. b is not ended.
func (c *Comm) handOver(to engine.Match, e *element, b *Buffer) error {
	a := c.core.world.memory.arena
	given, err := a.Give(b.lease, to.Peer)
	if err != nil {
		return err
	}
	err = c.engine.SendHandover(c.ctx, to, e.typ, a.Key(given.Off), b.lease.Bytes, 0)
	if err != nil {
		b.lease, _ = a.Regain(given) // it is in flight, so this cannot fail
		return err
	}
	return a.Confirm(given)
}

// forward sends a Buffer of another rank: a copy of it is handed over.
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

// bare is the element without its padding, for memory in which the padding is set to zero
// in place.
func (e *element) bare() *element {
	if e.plain {
		return e
	}
	bare := *e
	bare.plain = bare.err == nil
	return &bare
}

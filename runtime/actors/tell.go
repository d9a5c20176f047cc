package actors

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// Every message of the program to another rank takes the same steps. The first two produce an
// outgoing and a payload:
//
//	address   outgoing: the addressee, the sender and the headers
//	encode    payload: bytes in place, in a buffer, or in the arena
//	credit    the engine refuses a message that exceeds the credit of the stream; then the
//	          message waits in the outbox of its actor, or the sending goroutine waits
//	post      the message is sent in a frame; if it is too long for a frame, its memory is
//	          handed over; where a handover is impossible, the message is announced and sent
//	          as a message of the engine

// outgoing is a message to another rank with its address. Variables of type outgoing and frame are
// filled field by field and passed by pointer. A composite literal would be copied into the variable directly after
// its fields were written. The copy reads the fields in wider pieces than they were written in, so it would wait until
// the writes have reached the cache.
type outgoing struct {
	head    codec.Head
	codec   *codec.Type
	content any // the message without its envelope
	// contained is true if a panic of the codec must be returned as an error, because a goroutine other than
	// the sender's encodes the message.
	contained bool
}

// address sets o to a message that it takes out of its envelope. If name is not empty, the message is an
// answer to the future with this name; otherwise it is for the actor of the stream.
func (o *outgoing) address(message any, name string) error {
	o.content, o.head.Name = message, name
	if env, ok := message.(*actor.MessageEnvelope); ok {
		o.content, o.head.Sender, o.head.Headers = env.Message, env.Sender, env.Header
	}
	if o.codec = codec.Of(o.content); o.codec == nil {
		return fmt.Errorf("%w: %T", ErrUnregistered, o.content)
	}
	return nil
}

// send sends a message, or makes it wait for credit. If name is not empty, the message is an answer to the
// future with this name and needs no credit.
func (r *remote) send(pid *actor.PID, message any, name string) {
	var o outgoing
	err, sent := o.address(message, name), false
	if err == nil && (name != "" || !r.queued.Load()) {
		sent, err = r.tell(&o)
	}
	switch {
	case err != nil:
		r.s.deadLetter(pid, message, err)
	case !sent:
		r.wait(pid, message, &o)
	}
	goruntime.KeepAlive(r) // so that the stream of r stays open during the send
}

// tell encodes and posts a message. It returns false if there is no credit.
func (r *remote) tell(o *outgoing) (sent bool, err error) {
	// A request of a future is recorded before it is sent, so that any later loss of the rank ends
	// the future.
	one := openRequest{r.key.rank, r.key.id, o.head.Sender}
	asks := r.s.isFuture(o.head.Sender)
	if asks {
		r.s.fence(o.head.Sender)
		r.s.enter(one)
	}
	for {
		sent, err = r.encodeAndPost(o)
		if err == nil || !errors.Is(err, engine.ErrStreamClosed) {
			break
		}
		// The peer has refused a message. The next attempt uses a new stream.
	}
	if asks && !sent {
		err = r.s.withdraw(one, err)
	}
	return sent, err
}

// frame holds everything that is sent with the payload of a message.
type frame struct {
	stream *engine.Stream
	words  engine.ActorMessage
	head   []byte
}

// words returns the words of a message that is sent through l. head is the length of the encoded h.
func (r *remote) words(l *engine.Stream, kind int, number uint32, h *codec.Head, head int) engine.ActorMessage {
	w := engine.ActorMessage{Tag: codec.Tag(kind, head), Type: number, ID: r.key.epoch}
	if h.Name == "" {
		w.Stream = l.Number()
	}
	return w
}

// cost returns the credit that a payload of n bytes consumes; 0 for a message that is addressed by name.
func (f *frame) cost(n int) uint32 {
	if f.words.Stream == 0 {
		return 0
	}
	return costOf(n)
}

// encodeAndPost makes one attempt to encode and post a message, through the present stream.
func (r *remote) encodeAndPost(o *outgoing) (bool, error) {
	var space [192]byte
	l, err := r.openStream()
	if err != nil {
		return false, err
	}
	head, err := o.head.Append(space[:0], r.s.Address())
	if err == nil {
		err = r.define(l, o.codec)
	}
	if err != nil {
		return false, err
	}
	var f frame
	f.stream, f.head = l, head
	f.words = r.words(l, codec.KindUser, o.codec.Number, &o.head, len(head))
	var b payload
	if err := r.encode(&b, o); err != nil {
		return false, err
	}
	sent, err := r.post(&f, &b)
	if b.buffer != nil {
		b.buffer.giveBack()
	}
	return sent, err
}

// define sends the definition of a type to the rank if the definition was not sent before.
func (r *remote) define(l *engine.Stream, c *codec.Type) error {
	known := &r.s.inbound.announced[r.key.rank]
	if !known.Needs(c) {
		return nil
	}
	// The message carries the number of a stream, so that a refusal by the peer is reported.
	_, err := r.s.engine.SendActorMessage(l, engine.ActorMessage{Stream: l.Number(), Tag: codec.Tag(codec.KindDefine, 0), Type: c.Number}, nil, c.Definition(), 0)
	if err == nil {
		// Add must follow the send. Otherwise another goroutine could send a message of the type
		// before the definition is sent. Two goroutines may both send the definition; the peer
		// accepts the second one, too.
		known.Add(c)
	}
	return err
}

// payload is the encoded content of a message.
type payload struct {
	bytes []byte
	// memory is the *runtime.Message that contains bytes, or nil. When the payload is sent, this
	// message ends: its memory is handed over, released, or detached until the bytes are sent.
	memory any
	// buffer contains bytes, or is nil if the bytes are sent in place.
	buffer *buffer
}

// buffer is reusable memory for an encoded message.
type buffer struct{ bytes []byte }

// buffers is the pool of unused buffers.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// bufferMax is the capacity of the longest buffer that is kept for reuse.
const bufferMax = 1 << 20

// giveBack returns a buffer to the pool.
func (b *buffer) giveBack() {
	if cap(b.bytes) > bufferMax {
		b.bytes = nil
	}
	buffers.Put(b)
}

// encode stores the encoded content of a message in b. If the message's type allows it, the content
// stays in place and is not copied.
func (r *remote) encode(b *payload, o *outgoing) (err error) {
	if o.codec == codec.Message {
		alive := false
		if b.bytes, alive = r.s.world.Bytes(o.content); !alive {
			return runtime.ErrBuffer
		}
		b.memory = o.content
		return nil
	}
	if o.codec.View != nil {
		if b.bytes = o.codec.View(o.content); b.bytes != nil {
			return nil
		}
	}
	b.buffer = buffers.Get().(*buffer)
	if b.bytes, err = o.append(b.buffer.bytes[:0]); err != nil {
		b.buffer.giveBack()
		return fmt.Errorf("encode %T: %w", o.content, err)
	}
	b.buffer.bytes = b.bytes
	return nil
}

// append appends the encoded content to b.
func (o *outgoing) append(b []byte) (encoded []byte, err error) {
	if !o.contained {
		return o.codec.Append(b, o.content)
	}
	err = codec.Contained(func() (err error) {
		encoded, err = o.codec.Append(b, o.content)
		return err
	})
	return encoded, err
}

// smallMessage is the length of the longest *runtime.Message that is copied although a handover is
// possible, because the handover and the return of the memory would cost more.
const smallMessage = 256

// post sends a payload, whose bytes must not be changed afterwards. It returns false if there is no credit.
// If it returns false or an error, the payload still belongs to the caller.
func (r *remote) post(f *frame, b *payload) (sent bool, err error) {
	n := len(b.bytes)
	fits := len(f.head)+n <= int(r.frameMax.Load())
	if (!fits || b.memory != nil && n > smallMessage) && !r.apart.Load() {
		if sent, err = r.handOver(f, b); !errors.Is(err, transport.ErrNotSupported) {
			return sent, err
		}
		r.apart.Store(true)
		if b.memory != nil { // Give may have released received memory, of which the message now has a copy
			b.bytes, _ = r.s.world.Bytes(b.memory)
		}
	}
	if !fits {
		return r.announce(f, b)
	}
	sent, err = r.s.engine.SendActorMessage(f.stream, f.words, f.head, b.bytes, f.cost(n))
	if sent && b.memory != nil {
		r.s.world.Release(b.memory)
	}
	return sent, err
}

// handOver hands over the memory of a payload. A payload that is not in the arena is first copied to
// the arena. If a handover is impossible, the error is transport.ErrNotSupported.
func (r *remote) handOver(f *frame, b *payload) (sent bool, err error) {
	memory, n := b.memory, len(b.bytes)
	if memory == nil {
		if err = r.s.engine.Givable(f.stream); err != nil {
			return false, err // without a copy, for which the arena may have no space
		}
		if memory, err = r.s.world.Hold(n); err != nil {
			return false, fmt.Errorf("message of %d bytes: %w", n, err)
		}
		to, _ := r.s.world.Bytes(memory)
		copy(to, b.bytes)
		defer func() {
			if !sent {
				r.s.world.Release(memory)
			}
		}()
	}
	g, err := r.s.world.Give(memory, r.key.rank)
	if err != nil {
		return false, err
	}
	if sent, err = r.s.engine.SendActorMemory(f.stream, f.words, f.head, g.Key, n, f.cost(n)); sent {
		r.s.world.Given(memory, g, r.key.rank)
	} else {
		r.s.world.Regain(memory, g)
	}
	return sent, err
}

package actors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// A message that is too long for an actor message, and cannot be handed over, is called a long
// message. It is sent as a message of the engine, which chooses a protocol. An actor message
// announces the long message, so that the long message keeps its place in the order of the stream:
//
//	sender                                        receiver
//	SendActorMessage(codec.KindLarge)  ------->   Irecv into the arena or the heap
//	Isend                              =======>
//	                                              the receive stream continues after the receive
//
// If the receiver refuses the announcement, because it has no actors, the sender cancels the Isend.

// contextLarge is the engine's context for long messages. No communicator uses this context. Package runtime also
// uses it (contextTask), but only for messages of a rank to itself.
const contextLarge = 1<<32 - 2

// push is a long message that is being sent.
type push struct {
	handle engine.Handle
	memory port.Detached
	rank   int    // the receiver
	tag    uint32 // identifies the announcement
}

// pull is a long message that is being received.
type pull struct {
	handle  engine.Handle
	message any         // the memory to receive into; after the call of end, the decoded message
	codec   *codec.Type // nil if the type is unknown or there is no memory: the contents are dropped
	length  int
	over    bool  // the receive is complete, and end was called
	lost    error // the reason why the message was not received
	bad     error // the reason why the message cannot be decoded
	// The arrival of the message waits in the field kept of in or, if in is nil, in the field arrival.
	in      *receiveStream
	arrival arrival
}

// transfers holds the long messages that a rank is sending or receiving.
type transfers struct {
	tags atomic.Uint32 // the last tag of a long message that this rank has sent
	// entering is held from the announcement of a long message until its push is in pushes. A goroutine that holds
	// entering may call the engine and lock mu.
	entering sync.Mutex
	// mu guards pushes. A goroutine that holds the engine's lock may lock mu.
	mu     sync.Mutex
	pushes []push
	pulls  []*pull     // owned by the serving goroutine
	some   atomic.Bool // there are pushes or pulls
}

// over reports whether a send or receive of a long message is complete. The engine's lock is held.
func (t *transfers) over() bool {
	if !t.some.Load() {
		return false
	}
	for i := range t.pulls {
		if t.pulls[i].handle.Over() {
			return true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.pushes {
		if t.pushes[i].handle.Over() {
			return true
		}
	}
	return false
}

// announce sends the announcement of a payload, and then the payload as a message of the engine. If
// there is no credit, it sends nothing and returns false.
func (r *remote) announce(f *frame, b *payload) (bool, error) {
	t := &r.s.inbound.transfers
	tag := t.tags.Add(1) & engine.TagMax
	words := f.words
	words.Tag = codec.Tag(codec.KindLarge, len(f.head))
	// The head is passed to the engine in a copy. If it were passed as a body, the compiler would put the memory of
	// each message's head on the heap.
	var space [256]byte
	body := append(codec.AppendAnnouncement(space[:0], len(b.bytes), tag), f.head...)
	t.entering.Lock()
	defer t.entering.Unlock()
	sent, err := r.s.engine.SendActorMessage(f.stream, words, body, nil, f.cost(len(b.bytes)))
	if !sent {
		return false, err
	}
	var own port.Detached
	if b.memory != nil {
		own = r.s.world.Detach(b.memory, r.key.rank)
	}
	if b.buffer != nil {
		b.buffer.bytes = nil // so that the buffer's memory is not reused during the send
	}
	// The mode is Synchronous, so that cancel can withdraw the message also if it was sent eagerly.
	h := r.s.engine.Isend(engine.Match{Context: contextLarge, Peer: r.key.rank, Tag: int(tag)}, 0, b.bytes, engine.Synchronous)
	t.mu.Lock()
	t.pushes = append(t.pushes, push{h, own, r.key.rank, tag})
	t.some.Store(true)
	t.mu.Unlock()
	return true, nil
}

// cancel cancels the send of a long message whose announcement the peer has dropped, so that no receive will match
// the message. When the send has ended, settle releases its memory. The serving goroutine calls cancel.
func (t *transfers) cancel(rank int, tag uint32) {
	t.entering.Lock() // the announcement may have been refused before its push is in pushes
	defer t.entering.Unlock()
	t.mu.Lock()
	i := slices.IndexFunc(t.pushes, func(o push) bool { return o.rank == rank && o.tag == tag })
	var h engine.Handle
	if i >= 0 {
		h = t.pushes[i].handle
	}
	t.mu.Unlock()
	h.Cancel()
}

// heapMax is the length in bytes of the longest message that is received into heap memory. A []byte
// of up to heapMax bytes is always received into heap memory. Any other message is received into heap
// memory only if the arena is full.
const heapMax = 64 << 20

// fetch begins to receive the long message that an arrival announces. The arrival waits in its
// receive stream until the message is received, and later arrivals are queued after it. Long messages
// among the later arrivals are fetched concurrently. If there is no memory for the message, the
// message becomes a dead letter. It is received nevertheless, truncated to 0 bytes, so that its send completes.
func (p *inbound) fetch(a *arrival) {
	length, tag, _ := codec.ParseAnnouncement(a.details.bytes) // contents has checked for errors
	m, room := p.hold(a, length)
	b, _ := p.s.world.Bytes(m)
	from := engine.Match{Context: contextLarge, Peer: int(a.source), Tag: int(tag)}
	a.details.large = false
	l := &pull{handle: p.s.engine.Irecv(from, 0, b[:room]), message: m, codec: a.details.codec, length: length, in: a.in}
	a.details.pull = l
	t := &p.transfers
	t.pulls = append(t.pulls, l)
	t.some.Store(true)
	if a.in == nil {
		l.arrival = *a
		return
	}
	a.in.pulling = true
	a.in.kept = append(a.in.kept, *a)
}

// hold allocates memory for a long message. The result room is the length of the memory in bytes. A []byte of up
// to heapMax bytes is received into heap memory, which becomes the message itself. Any other message is received
// into arena memory. If the arena is full, a message of up to heapMax bytes is received into heap memory. If there
// is no memory, room is 0, and the arrival is to become a dead letter.
func (p *inbound) hold(a *arrival, length int) (m any, room int) {
	if a.details.codec != codec.Bytes || length > heapMax {
		m, err := p.s.world.Hold(length)
		if err == nil {
			return m, length
		}
		if length > heapMax {
			a.details.codec, a.details.err = nil, fmt.Errorf("long message of %d bytes: %w", length, err)
			return p.s.world.Wrap(int(a.source), nil), 0
		}
	}
	return p.s.world.Wrap(int(a.source), make([]byte, length)), length
}

// settle completes the transfers that have ended: it delivers received messages and releases the
// memory of sent messages.
func (p *inbound) settle() {
	t := &p.transfers
	if !t.some.Load() {
		return
	}
	for i := 0; i < len(t.pulls); {
		l := t.pulls[i]
		if !l.handle.Look() {
			i++
			continue
		}
		t.pulls = slices.Delete(t.pulls, i, i+1)
		l.end(p.s)
		switch {
		case l.in == nil:
			p.deliver(&l.arrival)
		case l.in.pulling:
			p.goOn(l.in)
		}
	}
	t.mu.Lock()
	pushes := t.pushes
	t.pushes = nil
	t.mu.Unlock()
	// mu is not held here, because Look polls the transports, takes the engine's lock and may yield.
	pushes = slices.DeleteFunc(pushes, func(o push) bool {
		if !o.handle.Look() {
			return false
		}
		_, _ = o.handle.Wait(context.Background()) // System.lost handles the loss of the rank
		p.s.world.Drop(o.memory)
		return true
	})
	t.mu.Lock()
	t.pushes = append(pushes, t.pushes...)
	t.some.Store(len(t.pushes)+len(t.pulls) > 0)
	t.mu.Unlock()
}

// goOn delivers the arrivals that wait at a receive stream, up to the next long message whose receive is
// not complete.
func (p *inbound) goOn(in *receiveStream) {
	in.pulling = false
	waiting := in.kept
	in.kept = nil
	for i := range waiting {
		p.deliver(&waiting[i])
	}
}

// end decodes the message of a pull whose receive is complete, or records the reason why there is no
// message.
func (l *pull) end(s *System) {
	l.over = true
	status, err := l.handle.Wait(context.Background())
	switch {
	case l.codec == nil:
		s.world.Release(l.message) // the type is unknown or there is no memory: drop the contents
		l.message = nil
		return
	case err == nil && status.Bytes != l.length:
		err = fmt.Errorf("%w: %d bytes were announced and %d came", codec.ErrMalformed, l.length, status.Bytes)
	}
	switch {
	case err != nil:
		s.world.Release(l.message)
		l.message, l.lost = nil, fmt.Errorf("long message: %w", err)
	case l.codec == codec.Bytes:
		b, _ := s.world.Bytes(l.message)
		if l.length > heapMax { // hold has taken arena memory, which no user of a []byte could release
			b = slices.Clone(b)
			s.world.Release(l.message)
		}
		l.message = b
	case l.codec != codec.Message:
		b, _ := s.world.Bytes(l.message)
		value, err := l.codec.Decode(b)
		s.world.Release(l.message)
		l.message = value
		if err != nil {
			l.bad = fmt.Errorf("%w: decode %s: %w", codec.ErrMalformed, l.codec.Name, err)
		}
	}
}

// there reports whether the arrival need not wait any more: it has no long message, or the long message
// has been received or lost. The call stores a received message in the arrival. If the message was lost, for
// example with its sender, the later messages of the stream become dead letters, too, so that the actor sees no gap.
func (a *arrival) there() bool {
	if a.details == nil || a.details.pull == nil {
		return true
	}
	l := a.details.pull
	if !l.over {
		return false
	}
	a.message, a.details.pull, a.details.codec = l.message, nil, nil
	switch {
	case l.lost != nil:
		a.details.err = l.lost
		if a.in != nil {
			a.in.lost = l.lost
		}
	case l.bad != nil:
		a.details.err = l.bad
	}
	return true
}

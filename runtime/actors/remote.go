package actors

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
)

// remote is an actor of another rank as protoactor sees it: a Process. All PIDs
// of one actor share it, hence its stream and its credit. When no PID leads to it any
// more it is collected as garbage, and its line closed.
type remote struct {
	s    *System
	key  remoteKey
	line *line

	// making guards stream while it is made.
	making sync.Mutex
	// stream leads to the actor.
	stream atomic.Pointer[engine.Stream]
	// mu guards queue. No lock of an actor is taken under it, but for making and the
	// engine's.
	mu sync.Mutex
	// queue waits for credit, in order; queued says that it is not empty.
	queue  []waiting
	queued atomic.Bool
	// eager is the longest actor message, see longest.
	eager atomic.Int64
	// apart says that memory cannot change hands on the way there.
	apart atomic.Bool
}

var _ actor.Process = (*remote)(nil)

// resolve finds the Process of a PID of another rank.
func (s *System) resolve(pid *actor.PID) (actor.Process, bool) {
	future := strings.HasPrefix(pid.Id, futurePrefix)
	if future {
		if a := s.post.askers.find(pid); a != nil {
			return &a.process, true
		}
	}
	rank, epoch, err := parseAddress(pid.Address)
	if err == nil && rank >= s.Size() {
		err = fmt.Errorf("%w: %q in a World of %d", ErrNoRank, pid.Address, s.Size())
	}
	key := remoteKey{rank, epoch, pid.Id}
	if err == nil && pid.Address != s.addresses[rank] {
		err = fmt.Errorf("%w: %q is %q now", ErrStale, pid.Address, s.addresses[rank])
	}
	if err != nil || future {
		return &reply{s: s, rank: rank, err: err}, true
	}
	return s.reach(key), true
}

// SendUserMessage implements actor.Process.
func (r *remote) SendUserMessage(pid *actor.PID, message any) {
	r.send(pid, message, "")
}

// send is SendUserMessage. With a name it is an answer to a future of the rank, which
// is not r, and travels without credit.
func (r *remote) send(pid *actor.PID, message any, name string) {
	defer goruntime.KeepAlive(r) // its stream must not be closed meanwhile
	m, h := message, codec.Head{Name: name}
	if env, ok := message.(*actor.MessageEnvelope); ok {
		m, h.Sender, h.Headers = env.Message, env.Sender, env.Header
	}
	c := codec.Of(m)
	if c == nil {
		r.s.deadLetter(pid, message, fmt.Errorf("%w: %T", ErrUnregistered, m))
		return
	}
	if name != "" || !r.queued.Load() {
		sent, err := r.tell(c, m, &h)
		if err != nil {
			r.s.deadLetter(pid, message, err)
		}
		if sent || err != nil {
			return
		}
	}
	r.wait(pid, message, m)
}

// tell sends a message if there is credit.
func (r *remote) tell(c *codec.Type, m any, h *codec.Head) (bool, error) {
	if r.s.asks(h.Sender) {
		return r.tellQuestion(c, m, h)
	}
	return r.tellAny(c, m, h)
}

// tellAny is tell for what is no request of a future.
func (r *remote) tellAny(c *codec.Type, m any, h *codec.Head) (bool, error) {
	for {
		sent, err := r.try(c, m, h)
		if err == nil || !errors.Is(err, engine.ErrLinkClosed) {
			return sent, err
		}
		// The peer has refused something: there is another stream, or will be.
	}
}

// try is tell through the stream there is.
func (r *remote) try(c *codec.Type, m any, h *codec.Head) (bool, error) {
	l, err := r.linked()
	if err != nil {
		return false, err
	}
	var space [192]byte
	headBytes := space[:0]
	if headBytes, err = h.Append(headBytes, r.s.Address()); err != nil {
		return false, err
	}
	if err := r.s.post.define(l, c); err != nil {
		return false, err
	}
	p := engine.ActorMessage{Tag: codec.Tag(codec.KindUser, len(headBytes)), Type: c.Number, ID: r.key.epoch}
	if h.Name == "" {
		p.Stream = l.Number()
	}
	if c == codec.Message {
		return r.tellMessage(l, p, headBytes, m)
	}
	if c.View != nil {
		body := c.View(m)
		switch {
		case body == nil:
		case len(headBytes)+len(body) <= r.longest():
			return r.s.engine.SendActorMessage(l, p, headBytes, body, streamCost(p, len(body)))
		case r.apart.Load():
			return r.sendLarge(l, p, headBytes, body, nil) // from where it is
		}
	}
	return r.tellEncoded(l, p, headBytes, c, m)
}

// streamCost is what a message of n bytes takes of the credit of the stream it goes
// through, if it goes through one.
func streamCost(p engine.ActorMessage, n int) uint32 {
	if p.Stream == 0 {
		return 0
	}
	return costOf(n)
}

// spare are slices for what messages are encoded into.
var spare = sync.Pool{New: func() any { return new([]byte) }}

// tellEncoded sends a message that has to be encoded, or is long.
func (r *remote) tellEncoded(l *engine.Stream, p engine.ActorMessage, head []byte, c *codec.Type, m any) (bool, error) {
	b := spare.Get().(*[]byte)
	defer spare.Put(b)
	var err error
	if *b, err = c.Append((*b)[:0], m); err != nil {
		return false, fmt.Errorf("encode %T: %w", m, err)
	}
	if len(head)+len(*b) <= r.longest() {
		return r.s.engine.SendActorMessage(l, p, head, *b, streamCost(p, len(*b)))
	}
	if r.apart.Load() {
		own := *b
		*b = nil
		return r.sendLarge(l, p, head, own, nil)
	}
	large, err := r.s.world.Hold(len(*b))
	if err != nil {
		return false, fmt.Errorf("message of %d bytes: %w", len(*b), err)
	}
	bytes, _ := r.s.world.Bytes(large)
	copy(bytes, *b)
	if cap(*b) > 1<<20 {
		*b = nil
	}
	sent, err := r.give(l, p, head, large)
	if !sent {
		r.s.world.Release(large)
	}
	return sent, err
}

// smallMessage is the longest *runtime.Message that is copied where memory can change
// hands: to give it away and to get it back costs more.
const smallMessage = 256

// tellMessage sends a *runtime.Message, which is the receiver's from then on.
func (r *remote) tellMessage(l *engine.Stream, p engine.ActorMessage, head []byte, m any) (bool, error) {
	b, alive := r.s.world.Bytes(m)
	if !alive {
		return false, runtime.ErrBuffer
	}
	if n := len(head) + len(b); n > r.longest() || len(b) > smallMessage && !r.apart.Load() {
		return r.give(l, p, head, m)
	}
	sent, err := r.s.engine.SendActorMessage(l, p, head, b, streamCost(p, len(b)))
	if sent {
		r.s.world.Release(m)
	}
	return sent, err
}

// give sends memory of the arena by name. Where that cannot be it sends the bytes.
func (r *remote) give(l *engine.Stream, p engine.ActorMessage, head []byte, m any) (bool, error) {
	g, err := r.s.world.Give(m, r.key.rank)
	if err != nil {
		return false, err
	}
	n := len(g.Lease.Bytes)
	sent, err := r.s.engine.SendActorMemory(l, p, head, g.Key, n, streamCost(p, n))
	if sent {
		r.s.world.Given(m, g, r.key.rank)
		return true, nil
	}
	r.s.world.Regain(m, g)
	if errors.Is(err, transport.ErrNotSupported) {
		r.apart.Store(true)
		b, _ := r.s.world.Bytes(m)
		if len(head)+len(b) > r.longest() {
			return r.sendLarge(l, p, head, b, m)
		}
		return r.tellMessage(l, p, head, m)
	}
	return false, err
}

// longest is the longest actor message, when there is a stream.
func (r *remote) longest() int { return int(r.eager.Load()) }

// linked returns the stream, which is made on first use.
func (r *remote) linked() (*engine.Stream, error) {
	if l := r.stream.Load(); l != nil {
		return l, nil
	}
	r.making.Lock()
	defer r.making.Unlock()
	if l := r.stream.Load(); l != nil {
		return l, nil
	}
	r.eager.Store(int64(r.s.engine.Eager(r.key.rank)))
	for l := r.line.stream.Load(); l != nil; l = r.line.stream.Load() { // of an earlier remote
		r.stream.Store(l)
		if r.line.stream.Load() == l {
			return l, nil
		}
		r.stream.CompareAndSwap(l, nil) // refused meanwhile
	}
	p := engine.ActorMessage{Tag: codec.Tag(codec.KindName, 0), ID: r.key.epoch}
	l, err := r.s.engine.NewStream(r.key.rank, r.line, &p, []byte(r.key.id))
	if err != nil {
		return nil, err
	}
	r.line.stream.Store(l)
	r.stream.Store(l)
	return l, nil
}

// probe sends a probe.
func (r *remote) probe(p deadlock.Probe) {
	defer goruntime.KeepAlive(r)
	l, err := r.linked()
	if err != nil {
		return // who waits for a lost rank hears of it
	}
	words := engine.ActorMessage{Tag: codec.Tag(codec.KindProbe, 0), Stream: l.Number(), ID: r.key.epoch}
	_, _ = r.s.engine.SendActorMessage(l, words, nil, p.Append(nil), 0)
}

// Stop implements actor.Process.
func (r *remote) Stop(pid *actor.PID) { r.SendSystemMessage(pid, &actor.Stop{}) }

// SendSystemMessage implements actor.Process. What protoactor sends to a child or
// a parent only has no meaning at another rank and is a dead letter.
func (r *remote) SendSystemMessage(pid *actor.PID, message any) {
	r.sendSystem(pid, message, r.key, "")
}

// sendSystem is SendSystemMessage to an actor with a key, which is that of r or, with
// a name, of a future.
func (r *remote) sendSystem(pid *actor.PID, message any, key remoteKey, name string) {
	defer goruntime.KeepAlive(r)
	h := codec.Head{Name: name}
	var body []byte
	var number uint32
	switch m := message.(type) {
	case *actor.Watch:
		if !r.s.watch(key, m.Watcher, pid) {
			r.s.tellSystem(m.Watcher, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
			return
		}
		number, h.Sender = codec.NumberWatch, m.Watcher
	case *actor.Unwatch:
		r.s.unwatch(key.rank, m.Watcher.Id, key.id)
		number, h.Sender = codec.NumberUnwatch, m.Watcher
	case *actor.Terminated:
		r.s.unwatchedBy(key.rank, m.Who.Id, pid)
		number, h.Sender, body = codec.NumberTerminated, m.Who, []byte{byte(m.Why)}
	case *actor.Stop:
		number = codec.NumberStop
	default:
		r.s.deadLetter(pid, message, fmt.Errorf("%w: %T is local", ErrUnregistered, message))
		return
	}
	err := r.system(number, &h, body)
	for errors.Is(err, engine.ErrLinkClosed) {
		err = r.system(number, &h, body)
	}
	if err != nil && number == codec.NumberStop {
		r.s.deadLetter(pid, message, err)
	}
}

// system sends a system message. A rank that is lost has no use for it.
func (r *remote) system(number uint32, h *codec.Head, body []byte) error {
	l, err := r.linked()
	if err != nil {
		return err
	}
	p := engine.ActorMessage{Tag: codec.KindSystem, Type: number, ID: r.key.epoch}
	if h.Name == "" {
		p.Stream = l.Number()
	}
	headBytes, err := h.Append(nil, r.s.Address())
	if err != nil {
		return err
	}
	p.Tag = codec.Tag(codec.KindSystem, len(headBytes))
	_, err = r.s.engine.SendActorMessage(l, p, headBytes, body, 0)
	return err
}

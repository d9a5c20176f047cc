package actors

import (
	"bytes"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// refusal is the report that a peer has dropped an actor message of a stream. The reason is that the peer had no
// actors when this or an earlier message of the stream arrived.
type refusal struct {
	stream *engine.Stream
	words  engine.ActorMessage
	body   []byte // the first bytes of the message's body, at most engine.RefusedMax
}

// Refused implements engine.ActorReceiver.
func (p *inbound) Refused(l *engine.Stream, w engine.ActorMessage, body []byte) {
	p.queue.add(&arrival{kind: arrivalRefused, message: &refusal{l, w, bytes.Clone(body)}})
}

// refused handles a refusal. The next message makes a new stream, because the old one cannot be used any more. The
// peer may have dropped the first message of the stream, which contains the name of the actor. The peer also never
// returns the credit of a dropped message.
func (l *remoteEntry) refused(s *System, m *refusal) {
	// The dropped message may have been the definition of a type. The set of defined types is cleared after the
	// refusal of any message. The reason is that the method define adds a type only after it has sent the definition.
	// If the refusal of the definition is handled before that, only a later refusal removes the type.
	s.inbound.announced[l.key.rank].Clear()
	// The stream is removed from the entry first and then from the remote, because a remote without a
	// stream takes the stream of its entry.
	if l.stream.CompareAndSwap(m.stream, nil) {
		s.engine.CloseStream(m.stream)
	}
	s.mu.Lock()
	r := l.remote.Value()
	s.mu.Unlock()
	if r != nil {
		r.stream.CompareAndSwap(m.stream, nil)
		defer r.drain()
	} else {
		l.retire(s)
	}
	kind, head, contents, whole := codec.Split(m.words.Tag, m.body)
	switch kind {
	case codec.KindLarge:
		if _, tag, err := codec.ParseAnnouncement(contents); err == nil {
			s.inbound.transfers.cancel(l.key.rank, tag)
		}
	case codec.KindUser, codec.KindSystem:
	default: // the other kinds contain nothing of the program
		return
	}
	why := fmt.Errorf("%w: rank %d", ErrNoActors, l.key.rank)
	var sender *actor.PID // nil also if the peer has not returned the whole head
	if h, err := codec.ParseHead(head); whole && err == nil && h.HasSender {
		sender = s.inbound.sender(s.Rank(), h)
	}
	switch {
	case kind != codec.KindSystem:
		l.unsent(s, sender, whole, why)
	case m.words.Type == codec.NumberWatch:
		s.endWatches(l.key, sender)
	case m.words.Type == codec.NumberStop:
		s.deadLetter(l.key.pid(), &actor.Stop{}, why)
	}
}

// unsent handles a message of the program that the peer has dropped. If it was the request of a future, the open
// request is removed and, if it is still unanswered, ended by a dead letter. Otherwise the message itself is published
// as a dead letter. If known is false, the sender is not known, and all requests to the actor end, too.
func (l *remoteEntry) unsent(s *System, sender *actor.PID, known bool, why error) {
	asks := s.isFuture(sender)
	if asks || !known {
		s.unanswered(why, func(one openRequest) bool {
			return one.rank == l.key.rank && one.id == l.key.id && (!known || one.future.Id == sender.Id)
		})
	}
	if !asks {
		s.deadLetter(l.key.pid(), &actor.MessageEnvelope{Sender: sender}, why)
	}
}

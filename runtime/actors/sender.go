package actors

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// senders is a cache of the PIDs of recent senders of other ranks. Its key is the sender's rank and the
// bytes of a message head (codec.Head) that contains only the sender. Messages of one sender share a
// PID, so that the PID and its Process are made once.
type senders [256]struct {
	from int
	head string
	pid  *actor.PID
}

// soleSender returns the sender in a head that contains nothing else. For any other head it returns nil.
func (p *inbound) soleSender(from int, head []byte) *actor.PID {
	id := codec.Sole(head, codec.HeadSender)
	if id == nil {
		return nil
	}
	if strings.HasPrefix(string(id), futurePrefix) {
		return p.remoteFutures.add(p.s, from, string(id))
	}
	n := len(head)
	known := &p.senders[(uint(head[n-1])+37*uint(head[n-2])+101*uint(from))%uint(len(p.senders))]
	if known.from != from || known.head != string(head) {
		known.from, known.head = from, string(head)
		known.pid = actor.NewPID(p.s.addresses[from], known.head[3:])
	}
	return known.pid
}

// sender returns the PID of the sender in a parsed head. If the head contains no address, the sender
// is an actor or a future of the peer. The argument from is the peer's rank.
func (p *inbound) sender(from int, h codec.RawHead) *actor.PID {
	if h.Address != nil {
		return actor.NewPID(string(h.Address), string(h.Sender))
	}
	return actor.NewPID(p.s.addresses[from], string(h.Sender))
}

const (
	// envelopesTotal is the number of envelopes (actor.MessageEnvelope) in one allocation.
	// envelopedMax is the length in bytes of the longest message that gets an envelope of such an
	// allocation. The length is bounded, because a reference to one envelope keeps the messages in
	// all envelopes of the allocation in memory.
	envelopesTotal = 8
	envelopedMax   = 512
)

// envelopes holds the unused envelopes of an allocation.
type envelopes []actor.MessageEnvelope

// of puts a message of n bytes, with its sender, into an envelope.
func (e *envelopes) of(message any, sender *actor.PID, n int) *actor.MessageEnvelope {
	if n > envelopedMax {
		return &actor.MessageEnvelope{Message: message, Sender: sender}
	}
	if len(*e) == 0 {
		*e = make([]actor.MessageEnvelope, envelopesTotal)
	}
	m := &(*e)[0]
	*e = (*e)[1:]
	m.Message, m.Sender = message, sender
	return m
}

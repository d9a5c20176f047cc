package actors

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// senders are recent senders of other ranks, by what a head with nothing else says
// of them: messages of one have the same PID, which spares making it and looking up
// its Process.
type senders [256]struct {
	from int
	head string
	pid  *actor.PID
}

// soleSender returns the sender that a head names, nil if the head has anything else.
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

// sender returns the sender that a head with other things names.
func (p *inbound) sender(from int, h codec.RawHead) *actor.PID {
	if h.Address != nil {
		return actor.NewPID(string(h.Address), string(h.Sender))
	}
	return actor.NewPID(p.s.addresses[from], string(h.Sender))
}

const (
	// envelopesTotal is how many envelopes are made at a time, envelopedMax the
	// longest message that gets one of them: a reference to one keeps what is in the others.
	envelopesTotal = 8
	envelopedMax   = 512
)

// envelopes are not yet used.
type envelopes []actor.MessageEnvelope

// of returns a message of n bytes in an envelope.
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

package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The messages of the actors:
//
//	BytesValue   a payload of 64 bytes or 64 KiB
//	Int64Value   asks a counter to answer when it has received this number of messages
//	PID          the actor to send messages to
//	UInt64Value  number of messages that each sender of a founder sends
//	Int32Value   number of idle actors that a founder starts

// spawnHost starts the actors that every process has.
func spawnHost(s *actor.ActorSystem) error {
	for name, producer := range map[string]actor.Producer{
		"echo":    func() actor.Actor { return actor.ReceiveFunc(echo) },
		"return":  func() actor.Actor { return &returner{} },
		"count":   func() actor.Actor { return &counter{} },
		"founder": func() actor.Actor { return &founder{s: s} },
	} {
		if _, err := s.Root.SpawnNamed(actor.PropsFromProducer(producer), name); err != nil {
			return err
		}
	}
	return nil
}

// echo returns each message to its sender.
func echo(c actor.Context) {
	switch m := c.Message().(type) {
	case *wrapperspb.BytesValue, *record:
		c.Respond(m)
	}
}

// record is a message within a process.
type record [8]int64

// returner forwards messages to an actor. The returner gets the PID of that actor as a message before it gets
// the messages that it forwards.
type returner struct{ partner *actor.PID }

// Receive implements actor.Actor.
func (r *returner) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.PID:
		r.partner = m
	case *wrapperspb.BytesValue:
		c.Send(r.partner, m)
	}
}

// counter counts messages, and answers when the expected number has arrived.
type counter struct {
	got    int64
	expect int64
	asker  *actor.PID
}

// Receive implements actor.Actor.
func (n *counter) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *wrapperspb.BytesValue, *record:
		n.got++
	case *wrapperspb.Int64Value:
		n.expect, n.asker = m.Value, c.Sender()
	}
	if n.asker != nil && n.got >= n.expect {
		c.Send(n.asker, wrapperspb.Int64(n.got))
		n.got, n.asker = 0, nil
	}
}

// founder starts idle actors, and senders, which send messages to one actor.
type founder struct {
	s       *actor.ActorSystem
	idle    int64
	senders []*actor.PID
	each    uint64
}

// Receive implements actor.Actor.
func (f *founder) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *wrapperspb.Int32Value:
		for range m.Value {
			if _, err := f.s.Root.SpawnNamed(actor.PropsFromFunc(func(actor.Context) {}), idleName(f.idle)); err != nil {
				panic(err) // the supervisor handles the panic, and the requester gets no answer
			}
			f.idle++
		}
		c.Respond(wrapperspb.Int64(f.idle))
	case *wrapperspb.UInt64Value:
		for len(f.senders) < fanInActors {
			f.senders = append(f.senders, c.Spawn(actor.PropsFromFunc(f.send)))
		}
		f.each = m.Value
		c.Respond(m)
	case *actor.PID:
		for _, sender := range f.senders {
			c.Send(sender, &burst{m, f.each})
		}
	}
}

// burst tells a sender to send messages to an actor.
type burst struct {
	to   *actor.PID
	each uint64 // the number of messages
}

// send is the Receive of a sender: it sends the messages of a burst.
func (f *founder) send(c actor.Context) {
	if b, ok := c.Message().(*burst); ok {
		m := wrapperspb.Bytes(make([]byte, small))
		for range b.each {
			c.Send(b.to, m)
		}
	}
}

// idleName is the name of an actor that does nothing.
func idleName(i int64) string { return fmt.Sprint("idle", i) }

// heapInUse returns the bytes of live objects in the heap, and the bytes of stacks.
func heapInUse() int64 {
	goruntime.GC()
	goruntime.GC() // the second collection frees the objects that finalizers and pools have held
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

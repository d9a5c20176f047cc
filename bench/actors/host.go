package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// record is a plain message of 64 bytes.
type record [8]int64

// count asks a counter to answer when it has received Expect messages since its last
// answer.
type count struct{ Expect int64 }

// crowd asks the actor founder to start Idle more actors that do nothing. If Each is not 0, founder also starts
// fanInActors senders, unless it has them already, and each sender then sends Each messages per burst.
type crowd struct{ Idle, Each int64 }

// heap asks the founder how many bytes of heap and stacks its rank uses.
type heap struct{}

func init() {
	actors.RegisterType[record]()
	actors.RegisterType[count]()
	actors.RegisterType[crowd]()
	actors.RegisterType[heap]()
}

// sameBytes is a message that is equal to the message with which the peer program measures protoactor's
// package remote.
var sameBytes = wrapperspb.Bytes(make([]byte, small))

// spawnHost starts the actors of every rank: an echo, a returner and a counter in each of the modes
// inline and worker, and a founder.
func spawnHost(s *actors.System) error {
	for name, mode := range map[string]actor.PropsOption{"inline": s.Inline(), "worker": s.Worker()} {
		for kind, producer := range map[string]actor.Producer{
			"echo":   func() actor.Actor { return actor.ReceiveFunc(echo) },
			"return": func() actor.Actor { return &returner{} },
			"count":  func() actor.Actor { return &counter{} },
		} {
			if _, err := s.Spawn(actor.PropsFromProducer(producer, mode), kind+"-"+name); err != nil {
				return err
			}
		}
	}
	_, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return &founder{s: s} }), "founder")
	return err
}

// echo is the receive function of an actor that answers each message with the same message.
func echo(c actor.Context) {
	switch m := c.Message().(type) {
	case []byte, *record:
		c.Respond(m)
	}
}

// returner is an actor that forwards records to its partner. The PID of the partner reaches the returner as a
// message before the records.
type returner struct{ partner *actor.PID }

// Receive implements actor.Actor.
func (r *returner) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.PID:
		r.partner = m
	case *record:
		c.Send(r.partner, m)
	}
}

// counter is an actor that counts messages, and answers a count when the expected number has arrived.
type counter struct {
	got    int64
	expect int64
	asker  *actor.PID
}

// Receive implements actor.Actor.
func (n *counter) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case []byte, *record, *wrapperspb.BytesValue:
		n.got++
	case *runtime.Message:
		n.got++
		m.Close()
	case *count:
		n.expect, n.asker = m.Expect, c.Sender()
	}
	if n.asker != nil && n.got >= n.expect {
		c.Send(n.asker, &count{n.got})
		n.got, n.asker = 0, nil
	}
}

// founder is an actor that starts other actors, and reports the result of heapInUse. Some of these other
// actors are its senders, which send messages at the founder's request. When the founder receives a PID, each
// of its senders sends a burst of messages to the actor with that PID.
type founder struct {
	s       *actors.System
	idle    int64
	senders []*actor.PID
	each    int64
}

// Receive implements actor.Actor.
func (f *founder) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *heap:
		c.Respond(heapInUse())
	case *crowd:
		for range m.Idle {
			if _, err := f.s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), idleName(f.idle)); err != nil {
				panic(err) // protoactor's supervisor logs the error, and rank 0 gets no answer
			}
			f.idle++
		}
		for m.Each > 0 && len(f.senders) < fanInActors {
			f.senders = append(f.senders, c.Spawn(actor.PropsFromFunc(f.send)))
		}
		f.each = m.Each
		c.Respond(f.idle)
	case *actor.PID:
		for _, sender := range f.senders {
			c.Send(sender, &burst{m, f.each})
		}
	}
}

// burst tells a sender to send messages to one actor. The field each is the number of messages, and the field
// to is the PID of the actor.
type burst struct {
	to   *actor.PID
	each int64
}

// send is the receive function of a sender.
func (f *founder) send(c actor.Context) {
	if b, ok := c.Message().(*burst); ok {
		m := &record{}
		for range b.each {
			c.Send(b.to, m)
		}
	}
}

// idleName returns the name of the i-th actor that does nothing.
func idleName(i int64) string { return fmt.Sprint("idle", i) }

// heapInUse returns the number of bytes of live objects in the heap and of the goroutines' stacks.
func heapInUse() int64 {
	goruntime.GC()
	goruntime.GC() // the second collection frees the objects that finalizers and pools have held
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

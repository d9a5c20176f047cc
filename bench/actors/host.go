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

// crowd asks a conductor for actors that do nothing, or that send.
type crowd struct{ Idle, Each int64 }

// heap asks how many bytes of heap a rank uses.
type heap struct{}

func init() {
	actors.RegisterType[record]()
	actors.RegisterType[count]()
	actors.RegisterType[crowd]()
	actors.RegisterType[heap]()
}

// sameBytes is the message that protoactor's remote is measured with.
var sameBytes = wrapperspb.Bytes(make([]byte, small))

// spawnHost starts what every rank has: actors that answer, return and count, in
// both modes, and one that makes actors.
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

// echo answers.
func echo(c actor.Context) {
	switch m := c.Message().(type) {
	case []byte, *record:
		c.Respond(m)
	}
}

// returner forwards messages to an actor that it was given before.
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

// counter counts messages, and answers when the expected number has arrived.
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

// founder makes actors, and reports how much heap its rank uses.
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
				panic(err) // protoactor's supervisor logs it, and rank 0 gets no answer
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

// burst tells an actor to send each messages to another one.
type burst struct {
	to   *actor.PID
	each int64
}

// send is the behaviour of an actor of the crowd.
func (f *founder) send(c actor.Context) {
	if b, ok := c.Message().(*burst); ok {
		m := &record{}
		for range b.each {
			c.Send(b.to, m)
		}
	}
}

// idleName is the name of an actor that does nothing.
func idleName(i int64) string { return fmt.Sprint("idle", i) }

// heapInUse returns the bytes of heap and of stacks that live objects take.
func heapInUse() int64 {
	goruntime.GC()
	goruntime.GC() // the second collection frees what finalizers and pools held
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

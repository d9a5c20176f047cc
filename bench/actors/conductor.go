package main

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// conductor is an actor that tells the main goroutine of its rank how many messages isends
// will send. So the main goroutine is not in a receive while actors are measured: the poll
// token would change between it and the actors.
const conductor = "conductor"

func init() { actors.RegisterType[order]() }

// serve is the part of rank 1: it receives what isends sends, until dismissed.
func serve(w *runtime.World, s *actors.System) error {
	orders := make(chan *order)
	if _, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if o, ok := c.Message().(*order); ok {
			orders <- o
		}
	}), conductor); err != nil {
		return err
	}
	for o := range orders {
		if o.Windows == 0 {
			break
		}
		if err := receive(w.Comm(), o); err != nil {
			return err
		}
	}
	return nil
}

// receive takes the messages of an order.
func receive(c *runtime.Comm, o *order) error {
	bufs := make([][]byte, window)
	for i := range bufs {
		bufs[i] = make([]byte, o.Bytes)
	}
	reqs := make([]runtime.Request, window)
	for range o.Windows {
		for i := range reqs {
			reqs[i] = runtime.Irecv(c, bufs[i], 0, tagData)
		}
		if err := runtime.Send(c, []byte{1}, 0, tagData); err != nil {
			return err
		}
		if err := runtime.WaitAll(reqs); err != nil {
			return err
		}
	}
	return nil
}

// dismiss ends serve.
func dismiss(s *actors.System) { s.Root.Send(s.PID(1, conductor), &order{}) }

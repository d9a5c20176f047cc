package main

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// conductor is the name of an actor of rank 1. The actor receives the orders that the function isends sends
// from rank 0, and passes them to the main goroutine of rank 1. Because of the conductor, the main goroutine
// does not wait in a receive while actors are measured. If it waited in a receive, the poll token would move
// between the main goroutine and the serving goroutine.
const conductor = "conductor"

func init() { actors.RegisterType[order]() }

// serve executes the program of rank 1. It receives the messages of isends until rank 0 calls dismiss.
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

// receive receives the messages of an order, window after window. After it has posted the receives of
// a window, it sends a message to rank 0, which then sends the window.
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

// dismiss ends serve at rank 1.
func dismiss(s *actors.System) { s.Root.Send(s.PID(1, conductor), &order{}) }

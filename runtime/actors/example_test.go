package actors_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// An actor of rank 0 adds up the numbers that actors and ranks send to it.
func ExampleSystem_Spawn() {
	err := runtime.Local(3, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() > 0 {
			s.Root.Send(s.PID(0, "adder"), w.Rank()*10)
			return nil
		}
		sums := make(chan int, w.Size())
		sum := 0 // needs no lock: the actor handles one message at a time
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if n, ok := c.Message().(int); ok {
				sum += n
				sums <- sum
			}
		}), "adder")
		if err != nil {
			return err
		}
		<-sums
		fmt.Println("sum", <-sums)
		return nil
	})
	fmt.Println(err)
	// Output:
	// sum 30
	// <nil>
}

// A rank sends a request to an actor of another rank and waits for the answer. The actor may be
// spawned after the request.
func ExampleSystem_PID() {
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if name, ok := c.Message().(string); ok {
					c.Respond("hello " + name)
				}
			}), "greeter")
			return err
		}
		answer, err := s.Root.RequestFuture(s.PID(1, "greeter"), "you", time.Minute).Result()
		fmt.Println(answer)
		return err
	})
	fmt.Println(err)
	// Output:
	// hello you
	// <nil>
}

// point is a message type of the program.
type point struct{ X, Y float64 }

// Values of a registered type can be sent between ranks.
func ExampleRegisterType() {
	actors.RegisterType[point]() // best called in an init function
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if p, ok := c.Message().(*point); ok {
					c.Respond(&point{p.Y, p.X})
				}
			}), "mirror")
			return err
		}
		answer, err := s.Root.RequestFuture(s.PID(1, "mirror"), &point{1, 2.5}, time.Minute).Result()
		fmt.Printf("%+v\n", answer)
		return err
	})
	fmt.Println(err)
	// Output:
	// &{X:2.5 Y:1}
	// <nil>
}

// An actor watches an actor of another rank, and is notified of its end.
func Example_watch() {
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if c.Message() == "end" {
					c.Stop(c.Self())
				}
			}), "worker")
			return err
		}
		ended := make(chan *actor.PID)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				worker := s.PID(1, "worker")
				c.Watch(worker)
				c.Send(worker, "end")
			case *actor.Terminated:
				ended <- m.Who
			}
		}), "watcher")
		if err != nil {
			return err
		}
		who := <-ended
		fmt.Println(who.Id, "of", who.Address, "has ended")
		return nil
	})
	fmt.Println(err)
	// Output:
	// worker of rank:1 has ended
	// <nil>
}

// A router gives each request to the next worker. There is one worker on each rank.
func ExampleSystem_Route() {
	err := runtime.Local(3, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if n, ok := c.Message().(int); ok {
				c.Respond(fmt.Sprintf("rank %d: %d", w.Rank(), n*n))
			}
		}), "worker")
		if err != nil || w.Rank() > 0 {
			return err
		}
		var workers []*actor.PID
		for rank := range w.Size() {
			workers = append(workers, s.PID(rank, "worker"))
		}
		router, err := s.Route(actors.RoundRobin, "router", workers...)
		if err != nil {
			return err
		}
		for n := range 4 {
			answer, err := s.Root.RequestFuture(router, n, time.Minute).Result()
			if err != nil {
				return err
			}
			fmt.Println(answer)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// rank 0: 0
	// rank 1: 1
	// rank 2: 4
	// rank 0: 9
	// <nil>
}

// An actor is found by a name, on whatever rank it runs.
func ExampleSystem_LookupName() {
	err := runtime.Local(3, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		c, ready := w.Comm(), make([]bool, 1)
		if w.Rank() == 2 {
			pid, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "store7")
			if err != nil {
				return err
			}
			if err := s.RegisterName("store", pid); err != nil {
				return err
			}
			return runtime.Send(c, ready, 0, 0)
		}
		if w.Rank() == 1 {
			return nil
		}
		if _, err := runtime.Recv(c, ready, 2, 0); err != nil {
			return err
		}
		pid, err := s.LookupName("store")
		if err != nil {
			return err
		}
		fmt.Println("store is", pid.Id, "of", pid.Address)
		_, err = s.LookupName("shop")
		fmt.Println("shop is unknown:", errors.Is(err, actors.ErrNoName))
		return nil
	})
	fmt.Println(err)
	// Output:
	// store is store7 of rank:2
	// shop is unknown: true
	// <nil>
}

// An actor starts a receive and handles other messages until it gets the result.
func ExampleSystem_PipeTo() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if w.Rank() == 1 {
			return runtime.Send(c, []float64{1.5, 2.5}, 0, 0)
		}
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		results := make(chan any)
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case []float64, *actors.Failure:
				results <- m
			}
		}), "solver")
		if err != nil {
			return err
		}
		values := make([]float64, 2)
		s.PipeTo(runtime.Irecv(c, values, 1, 0), pid, values)
		fmt.Println(<-results)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [1.5 2.5]
	// <nil>
}

// The memory of a message moves to the actor, which owns the message and releases it.
func Example_message() {
	err := runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if m, ok := c.Message().(*runtime.Message); ok {
					defer m.Close()
					values := runtime.View[float64](m.Buffer())
					c.Respond(values[len(values)-1])
				}
			}), "reader")
			return err
		}
		b, err := runtime.Alloc[float64](w, 1<<16)
		if err != nil {
			return err
		}
		values := runtime.View[float64](b)
		for i := range values {
			values[i] = float64(i) / 2
		}
		m, err := runtime.NewMessage(b) // b must not be used any more
		if err != nil {
			return err
		}
		answer, err := s.Root.RequestFuture(s.PID(1, "reader"), m, time.Minute).Result()
		fmt.Println("the last value is", answer)
		return err
	})
	fmt.Println(err)
	// Output:
	// the last value is 32767.5
	// <nil>
}

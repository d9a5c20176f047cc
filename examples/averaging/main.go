// Command averaging fits a line, by gradient descent, to points that are distributed over the ranks. Each
// rank has two actors, each with a part of the points. In each step, an actor computes the gradient of its
// part and contributes the gradient to an AllReduce of the group of all actors. Each actor receives the sum
// of the gradients as a message, so that all actors make the same step. While the AllReduce is in progress,
// the actors also receive other messages: they answer questions and count the questions.
//
//	gorun -np 4 ./examples/averaging
package main

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// The points are on the line y = slope*x + offset. The constant points is the number of points of each actor,
// perRank is the number of actors of each rank, and rate is the learning rate.
const (
	slope, offset = 3.0, -1.0
	points        = 64
	perRank       = 2
	rate          = 0.3
)

func main() {
	steps := options.Int("steps", 400, 1, "`number` of steps")
	options.Parse()
	runtime.Main(func(w *runtime.World) error { return run(w, *steps) })
}

// trainer is an actor with a part of the points.
type trainer struct {
	group  **actors.Group
	x, y   []float64
	a, b   float64 // the current estimate of the line, y = a*x + b
	n      float64 // number of points of all actors
	left   int     // how many steps are left
	asked  int     // how many questions were answered
	err    error   // the error of the step at which the trainer ended, or nil
	report chan<- *trainer
}

// question asks a trainer how many questions the trainer has received so far. After the start of the steps, the
// function run sends a question to the first trainer of its rank.
type question struct{}

// Receive implements actor.Actor.
func (t *trainer) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case string:
		t.contribute(c)
	case question:
		t.asked++
		c.Respond(t.asked)
	case *actors.Result[float64]:
		if t.err = m.Err; t.err != nil {
			t.report <- t
			return
		}
		t.a -= rate * m.Values[0] / t.n
		t.b -= rate * m.Values[1] / t.n
		if t.left--; t.left == 0 {
			t.report <- t
			return
		}
		t.contribute(c)
	}
}

// contribute computes the gradient of half the squared error and contributes it to the AllReduce of this
// step.
func (t *trainer) contribute(c actor.Context) {
	gradient := make([]float64, 2)
	for i, x := range t.x {
		off := t.a*x + t.b - t.y[i]
		gradient[0] += off * x
		gradient[1] += off
	}
	if err := actors.Contribute(*t.group, c.Self(), gradient, add, allReduce); err != nil {
		panic(err)
	}
}

// add adds the gradient of one actor of this rank (values) to the sum of the gradients of other actors
// (into).
func add(into, values []float64) {
	for i := range into {
		into[i] += values[i]
	}
}

// allReduce adds the sums of the ranks.
func allReduce(c *runtime.Comm, sum []float64) ([]float64, error) {
	all := make([]float64, len(sum))
	return all, collectives.AllReduce(c, sum, all, collectives.Sum)
}

func run(w *runtime.World, steps int) error {
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	var group *actors.Group
	done := make(chan *trainer, perRank)
	var members []*actor.PID
	total := perRank * points * w.Size()
	for k := range perRank {
		t := &trainer{group: &group, n: float64(total), left: steps, report: done}
		for i := range points {
			x := 2*float64((w.Rank()*perRank+k)*points+i)/float64(total) - 1
			t.x, t.y = append(t.x, x), append(t.y, slope*x+offset)
		}
		pid, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return t }), "")
		if err != nil {
			return err
		}
		members = append(members, pid)
	}
	if group, err = s.NewGroup(w.Comm(), members...); err != nil {
		return err
	}
	for _, m := range members {
		s.Root.Send(m, "go")
	}
	if _, err := s.Root.RequestFuture(members[0], question{}, time.Minute).Result(); err != nil {
		return err
	}
	for range perRank {
		t := <-done
		if t.err != nil {
			return t.err
		}
		if w.Rank() == 0 {
			fmt.Printf("y = %.3f x + %.3f after %d steps\n", t.a, t.b, steps)
		}
	}
	return nil
}

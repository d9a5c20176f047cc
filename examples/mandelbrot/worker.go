package main

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// work holds the numbers of lines to compute. If the victim of a steal has no lines to give, it
// answers with a work without lines.
type work struct{ Lines []int }

// steal asks another worker, the victim, for half of its lines.
type steal struct{}

// line is a computed line of the picture, number Y.
type line struct {
	Y      int
	Pixels []byte
}

func init() {
	actors.RegisterType[work]()
	actors.RegisterType[steal]()
	actors.RegisterType[line]()
}

// step is the message that a worker sends to itself in order to compute its next line.
type step struct{}

// worker is an actor that computes lines. It computes one line per message, so that it can answer
// steals between two lines.
type worker struct {
	master *actor.PID
	others []*actor.PID // the list begins with this worker
	lines  []int
	going  bool // a step is in the mailbox
	tried  int  // number of steals since lines last arrived
	victim int  // index in others of the last victim
	// given holds the lines that each other worker has stolen from this one. This worker computes them if the
	// thief is lost; lines that the thief has already computed arrive at the master twice.
	given   map[string][]int
	crasher bool
}

// Receive implements actor.Actor.
func (k *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		k.given = make(map[string][]int)
		for _, other := range k.others[1:] {
			c.Watch(other)
		}
	case *work:
		k.lines = append(k.lines, m.Lines...)
		switch {
		case len(m.Lines) > 0:
			k.tried = 0
			k.goOn(c)
		case len(k.lines) == 0:
			k.steal(c)
		}
	case *steal:
		thief := c.Sender()
		if !slices.ContainsFunc(k.others, thief.Equal) {
			return // the thief is lost, and lines that it gets now would be lost, too
		}
		half := len(k.lines) - len(k.lines)/2
		stolen := slices.Clone(k.lines[half:])
		k.given[thief.String()] = append(k.given[thief.String()], stolen...)
		c.Respond(&work{stolen})
		k.lines = k.lines[:half]
	case step:
		k.going = false
		k.compute(c)
	case *actor.Terminated:
		k.others = slices.DeleteFunc(k.others, m.Who.Equal)
		// When the master learns of the loss, it distributes the missing lines. If this worker learns of the
		// loss later, it may still give such lines to a steal of the lost worker. So it takes back all lines
		// that it has given to the lost worker.
		k.lines = append(k.lines, k.given[m.Who.String()]...)
		delete(k.given, m.Who.String())
		if len(k.lines) > 0 {
			k.goOn(c)
		}
	}
}

// goOn sends a step to this actor if no step is in the actor's mailbox.
func (k *worker) goOn(c actor.Context) {
	if !k.going {
		k.going = true
		c.Send(c.Self(), step{})
	}
}

// compute computes the first of the worker's lines. If the worker has no lines, compute steals.
func (k *worker) compute(c actor.Context) {
	if len(k.lines) == 0 {
		k.steal(c)
		return
	}
	y := k.lines[0]
	k.lines = k.lines[1:]
	c.Send(k.master, &line{y, lineOf(y)})
	if k.crasher { // the worker crashes after its first line, because other workers may steal its other lines
		options.Crash()
	}
	k.goOn(c)
}

// steal asks the next worker for lines. If no other worker has lines to give, this worker stops, because
// other workers are already computing all remaining lines.
func (k *worker) steal(c actor.Context) {
	if k.tried++; k.tried >= len(k.others) {
		return
	}
	k.victim = k.victim%(len(k.others)-1) + 1
	c.Request(k.others[k.victim], &steal{})
}

package main

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// work is lines to compute; none is the answer to a steal that found none.
type work struct{ Lines []int }

// steal asks for some of the lines of another worker.
type steal struct{}

// line is one that is done.
type line struct {
	Y      int
	Pixels []byte
}

func init() {
	actors.RegisterType[work]()
	actors.RegisterType[steal]()
	actors.RegisterType[line]()
}

// step makes a worker continue. It never leaves its rank.
type step struct{}

// worker computes lines, one per message, so that it answers thieves in between.
type worker struct {
	master  *actor.PID
	others  []*actor.PID // itself first
	lines   []int
	going   bool
	tried   int // victims that had nothing
	victim  int
	crasher bool
}

// Receive implements actor.Actor.
func (k *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
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
		half := len(k.lines) - len(k.lines)/2
		c.Respond(&work{append([]int(nil), k.lines[half:]...)})
		k.lines = k.lines[:half]
	case step:
		k.going = false
		k.compute(c)
	case *actor.Terminated:
		k.others = slices.DeleteFunc(k.others, m.Who.Equal)
	}
}

// goOn sees to it that a step comes.
func (k *worker) goOn(c actor.Context) {
	if !k.going {
		k.going = true
		c.Send(c.Self(), step{})
	}
}

// compute does the first line.
func (k *worker) compute(c actor.Context) {
	if len(k.lines) == 0 {
		k.steal(c)
		return
	}
	y := k.lines[0]
	k.lines = k.lines[1:]
	c.Send(k.master, &line{y, lineOf(y)})
	if k.crasher { // now: thieves leave a worker one line for certain
		options.Crash()
	}
	k.goOn(c)
}

// steal asks the next worker, until all had nothing: the rest is being computed.
func (k *worker) steal(c actor.Context) {
	if k.tried++; k.tried >= len(k.others) {
		return
	}
	k.victim = k.victim%(len(k.others)-1) + 1
	c.Request(k.others[k.victim], &steal{})
}

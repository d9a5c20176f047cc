package main

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// TestLinesOfALostThief checks that a worker computes the lines that a thief has stolen from it, if the thief is
// lost before it has computed them.
func TestLinesOfALostThief(t *testing.T) {
	system := actor.NewActorSystem()
	defer system.Shutdown()
	lines, stolen := make(chan int, 100), make(chan []int, 1)
	begun, begin := make(chan bool), make(chan bool)
	root := system.Root
	master := root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if l, ok := c.Message().(*line); ok {
			lines <- l.Y
		}
	}))
	thief := root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.PID:
			c.Request(m, &steal{})
			close(begin)
		case *work:
			stolen <- m.Lines
			c.Stop(c.Self())
		}
	}))
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	victim := root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		k := &worker{master: master, others: []*actor.PID{actor.NewPID(system.Address(), "victim"), thief}}
		return actor.ReceiveFunc(func(c actor.Context) {
			k.Receive(c)
			if _, ok := c.Message().(*work); ok && len(k.lines) == len(all) {
				close(begun)
				<-begin // the steal is in the mailbox before the worker computes its first line
			}
		})
	}))
	root.Send(victim, &work{all})
	<-begun
	root.Send(thief, victim)
	require.NotEmpty(t, <-stolen)
	missing := map[int]bool{}
	for _, y := range all {
		missing[y] = true
	}
	for len(missing) > 0 {
		delete(missing, <-lines)
	}
}

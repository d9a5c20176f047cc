// Command pingpong measures the round trip of a message between actors. For each other rank in turn, an actor
// of rank 0 and an actor of that rank send a ball back and forth. The command prints the time of a round
// trip. It measures both modes of actors, inline and worker.
//
//	gorun -np 2 ./examples/pingpong
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// ball is the message. It has no pointers, so that it is sent without encoding.
type ball struct{ Bounces int64 }

func init() { actors.RegisterType[ball]() }

func main() {
	rounds := options.Int("rounds", 10000, 1, "`number` of round trips with each rank")
	options.Parse()
	runtime.Main(func(w *runtime.World) error { return play(w, int64(*rounds)) })
}

// play executes the program of one rank. On ranks other than 0, play returns when the rank's actors have been
// started. The actors live until every rank leaves the job.
func play(w *runtime.World, rounds int64) error {
	if w.Size() < 2 {
		return errors.New("pingpong needs 2 ranks: start it with gorun -np 2 or more")
	}
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	modes := []struct {
		name string
		mode actor.PropsOption
	}{{"inline", s.Inline()}, {"worker", s.Worker()}}
	for _, m := range modes {
		if w.Rank() > 0 {
			if _, err := s.Spawn(actor.PropsFromFunc(pong, m.mode), m.name); err != nil {
				return err
			}
			continue
		}
		for peer := 1; peer < w.Size(); peer++ {
			took := serve(s, m.mode, s.PID(peer, m.name), rounds)
			fmt.Printf("%s: %d round trips with rank %d, %v each\n", m.name, rounds, peer, took/time.Duration(rounds))
		}
	}
	return nil
}

// pong is the receive function of the actors that return the ball.
func pong(c actor.Context) {
	if b, ok := c.Message().(*ball); ok {
		c.Respond(&ball{b.Bounces + 1})
	}
}

// serve does a number of round trips between a new actor and the actor peer, and returns the total
// time.
func serve(s *actors.System, mode actor.PropsOption, peer *actor.PID, rounds int64) time.Duration {
	took := make(chan time.Duration)
	var start time.Time
	pid := s.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			start = time.Now()
			c.Request(peer, &ball{})
		case *ball:
			if m.Bounces < rounds {
				c.Request(peer, m)
				return
			}
			took <- time.Since(start)
		}
	}, mode))
	defer s.Root.Stop(pid)
	return <-took
}

package phases_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// A request with the timeout unlimited waits for its answer without a limit.
const unlimited = -time.Second

// startActors spawns the actors of a rank, and waits until all ranks have spawned theirs.
func (r *rank) startActors() (err error) {
	if r.system, err = actors.Of(r.world); err != nil {
		return err
	}
	paused := map[int]bool{}
	behaviours := map[string]actor.ReceiveFunc{
		// slow pauses once in each phase, and answers every request.
		"slow": func(c actor.Context) {
			if i, ok := c.Message().(int); ok {
				if !paused[i] {
					paused[i] = true
					r.phases[i].pause.run(r.phases[i].length)
				}
				c.Respond(i)
			}
		},
		// relay forwards a request to the actor "slow" of the next rank. It passes the answer on when the answer
		// arrives, and does not block meanwhile.
		"relay": func(c actor.Context) {
			if i, ok := c.Message().(int); ok {
				answer := c.RequestFuture(r.system.PID(r.next(), "slow"), i, unlimited)
				c.ReenterAfter(answer, func(v any, err error) {
					if err != nil {
						v = err.Error()
					}
					c.Respond(v)
				})
			}
		},
		"mute": func(actor.Context) {},
		// asker waits for an answer of the actor "asker" of the next rank.
		"asker": func(c actor.Context) {
			if text, ok := c.Message().(string); ok {
				_, _ = c.RequestFuture(r.system.PID(r.next(), "asker"), text, unlimited).Result()
			}
		},
		// stuck waits for a message that nobody sends.
		"stuck": func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				_ = r.hear(r.next(), 3)
			}
		},
	}
	for name, behaviour := range behaviours {
		if _, err := r.system.Spawn(actor.PropsFromFunc(behaviour), name); err != nil {
			return err
		}
	}
	return collectives.Barrier(r.Comm)
}

// ask sends the number of the phase to an actor and waits for the answer.
func (r *rank) ask(pid *actor.PID) error {
	answer, err := r.system.Root.RequestFuture(pid, r.tag/tagStride, unlimited).Result()
	if want := r.tag / tagStride; err == nil && answer != want {
		return fmt.Errorf("%v answers %v, want %d", pid, answer, want)
	}
	return err
}

// actorWaits lists the ways to wait for an actor.
var actorWaits = []wait{
	{name: "answer", actors: true, run: func(r *rank, p phase) error { return r.ask(r.system.PID(p.late, "slow")) }},
	{name: "answer by another rank", actors: true, run: func(r *rank, p phase) error { return r.ask(r.system.PID(p.late, "relay")) }},
	{name: "timeout of a request", actors: true, run: func(r *rank, p phase) error {
		_, err := r.system.Root.RequestFuture(r.system.PID(r.next(), "mute"), r.tag, p.length).Result()
		if !errors.Is(err, actor.ErrTimeout) {
			return fmt.Errorf("want a timeout, got: %v", err) //nolint:errorlint // err may be nil
		}
		return nil
	}},
	{name: "timeout of an actor", actors: true, run: func(r *rank, p phase) error {
		if !r.isLate(p) {
			return r.hear(p.late, 0)
		}
		now := *r
		_, err := r.system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				c.SetReceiveTimeout(p.length + time.Millisecond)
			case *actor.ReceiveTimeout:
				_ = now.tell(0)
				c.Stop(c.Self())
			}
		}), "")
		return err
	}},
	{name: "scheduler", actors: true, run: func(r *rank, p phase) error {
		if !r.isLate(p) {
			return r.hear(p.late, 0)
		}
		now := *r
		teller, err := r.system.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				_ = now.tell(0)
				c.Stop(c.Self())
			}
		}), "")
		scheduler.NewTimerScheduler(r.system.Root).SendOnce(p.length, teller, "now")
		return err
	}},
}

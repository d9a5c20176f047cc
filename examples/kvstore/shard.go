package main

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// change adds Add to the counter Key. Client and Number identify the change. Client is the rank of the
// client.
type change struct {
	Client, Number int
	Key            string
	Add            int64
}

// copied is a change that the primary has made and that it sends to its replica.
type copied struct{ Change change }

// outcome is the answer to a change: its number, and the value of the counter after the change.
type outcome struct{ Number, Value int64 }

func init() {
	actors.RegisterType[change]()
	actors.RegisterType[copied]()
	actors.RegisterType[outcome]()
}

// shard is an actor with the counters of a shard: the primary or the replica of the shard. In the primary,
// the field replica is the PID of the replica. In the replica, the field primary is the PID of the primary.
// When the other actor is lost, both fields become nil.
type shard struct {
	replica, primary *actor.PID
	counters         map[string]int64
	last             map[int]outcome // the answer to the last change of each client
	// waiting holds the answers that the primary sends when the replica has made the same changes.
	// They are in the order of the changes.
	waiting []pending
}

// pending is an answer and its receiver.
type pending struct {
	to     *actor.PID
	answer outcome
}

// Receive implements actor.Actor.
func (h *shard) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		h.counters, h.last = make(map[string]int64), make(map[int]outcome)
		for _, other := range []*actor.PID{h.replica, h.primary} {
			if other != nil {
				c.Watch(other)
			}
		}
	case *change:
		answer := h.apply(m)
		if h.replica == nil {
			c.Respond(&answer)
			return
		}
		h.waiting = append(h.waiting, pending{c.Sender(), answer})
		c.Request(h.replica, &copied{*m})
	case *copied:
		answer := h.apply(&m.Change)
		c.Respond(&answer)
	case *outcome: // the replica has made the change to which waiting[0] is the answer
		if len(h.waiting) > 0 {
			c.Send(h.waiting[0].to, &h.waiting[0].answer)
			h.waiting = h.waiting[1:]
		}
	case *actor.Terminated:
		// This actor continues alone. If it is the primary, it sends the pending answers at once,
		// because there is no replica left to wait for.
		h.replica, h.primary = nil, nil
		for i := range h.waiting {
			c.Send(h.waiting[i].to, &h.waiting[i].answer)
		}
		h.waiting = nil
	}
}

// apply makes a change and returns the answer. If the change was already made, it only returns the answer to the last
// change of the client. A client makes its changes one after the other. So a change with a smaller number was already
// made, too: the client has sent it to this replica before the message of the lost primary has arrived.
func (h *shard) apply(m *change) outcome {
	if last, ok := h.last[m.Client]; ok && last.Number >= int64(m.Number) {
		return last
	}
	h.counters[m.Key] += m.Add
	answer := outcome{int64(m.Number), h.counters[m.Key]}
	h.last[m.Client] = answer
	return answer
}

// client makes the changes of a rank, one after the other.
type client struct {
	s      *actors.System
	number int
}

// add adds n to a counter and returns its new value. If the primary of the counter's shard is lost
// before it answers, add asks the replica.
func (c *client) add(key string, n int64) (int64, error) {
	c.number++
	size := c.s.Size()
	at := shardOf(key, size)
	m := &change{c.s.Rank(), c.number, key, n}
	for _, rank := range []int{at, (at + 1) % size} {
		v, err := c.ask(c.s.PID(rank, shardName(at)), m)
		if err == nil {
			return v, nil
		}
		if !errors.Is(err, errLost) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%q: %w, and so is its replica", key, errLost)
}

// errLost is returned by ask if the shard is lost before it answers.
var errLost = errors.New("the shard is lost")

// ask sends a change to a shard, waits until the shard answers or is lost, and returns the new value
// of the counter.
func (c *client) ask(pid *actor.PID, m *change) (int64, error) {
	f := actor.NewFuture(c.s.ActorSystem, patience)
	asker := c.s.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch got := ctx.Message().(type) {
		case *actor.Started:
			ctx.Watch(pid)
			ctx.Request(pid, m)
		case *outcome, *actor.Terminated:
			ctx.Send(f.PID(), got)
		}
	}))
	defer c.s.Root.Stop(asker)
	v, err := f.Result()
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", pid.Id, err)
	}
	if got, ok := v.(*outcome); ok {
		return got.Value, nil
	}
	return 0, errLost
}

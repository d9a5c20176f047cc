package main

import (
	"encoding/json"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// none is the Part of no range.
const none = -1

// task is a range of numbers for a worker. Without a range all are counted, and Primes is the result.
type task struct {
	Part, From, To int
	Primes         int
}

// count is what a worker has counted, and asks for the next range.
type count struct{ Part, Primes int }

func init() {
	actors.RegisterType[task]()
	actors.RegisterType[count]()
}

// farm is the actor that hands out ranges and keeps what was counted. It is an actors.Persistent.
type farm struct {
	store *actors.Store
	// Counts has the primes of each range, none if it was not handed in.
	Counts []int
	// next is where the search for the next range begins: each is handed out once before those
	// that were not handed in are handed out again.
	next int
}

func newFarm(store *actors.Store) *farm {
	f := &farm{store: store, Counts: make([]int, *parts)}
	for i := range f.Counts {
		f.Counts[i] = none
	}
	return f
}

// Snapshot implements actors.Persistent.
func (f *farm) Snapshot() ([]byte, error) { return json.Marshal(f.Counts) }

// Recover implements actors.Persistent.
func (f *farm) Recover(state []byte) error { return json.Unmarshal(state, &f.Counts) }

// Receive implements actor.Actor.
func (f *farm) Receive(c actor.Context) {
	done, ok := c.Message().(count)
	if !ok {
		return
	}
	if done.Part != none && f.Counts[done.Part] == none {
		f.Counts[done.Part] = done.Primes
		if err := f.store.Save(c); err != nil {
			c.Respond(err.Error())
			return
		}
	}
	f.answer(c, c.Sender())
}

// answer gives a worker the next range that was not handed in, or the result.
func (f *farm) answer(c actor.Context, worker *actor.PID) {
	total := 0
	for i := range f.Counts {
		part := (f.next + i) % len(f.Counts)
		if f.Counts[part] == none {
			f.next = part + 1
			c.Send(worker, task{Part: part, From: part * *limit / len(f.Counts), To: (part + 1) * *limit / len(f.Counts)})
			return
		}
		total += f.Counts[part]
	}
	c.Send(worker, task{Part: none, Primes: total})
}

package main

import (
	"encoding/json"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// none is the value of the field Part if there is no range. In the field Counts, it is the value for a range
// that is not counted yet.
const none = -1

// task is the farm's answer to a worker: range number Part, which consists of the numbers n with From
// <= n < To. If Part is none, all ranges are counted, and Primes is the number of primes in all
// ranges.
type task struct {
	Part, From, To int
	Primes         int
}

// count reports the number of primes in range Part to the farm, and asks for the next range. If Part is none,
// a count only asks for the next range.
type count struct{ Part, Primes int }

func init() {
	actors.RegisterType[task]()
	actors.RegisterType[count]()
}

// farm is the actor that assigns ranges to workers and stores their counts. It is an
// actors.Persistent.
type farm struct {
	store *actors.Store
	// Counts holds the number of primes in each range, or none if no worker has reported the number.
	Counts []int
	// The search for the range to assign begins at the range next. For this reason, each range is assigned
	// once before ranges without a count are assigned again.
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
			f.Counts[done.Part] = none // the count is not saved, so that a worker must report it again
			c.Respond(err.Error())
			return
		}
	}
	f.answer(c, c.Sender())
}

// answer sends the next range without a count to a worker, or the result if all ranges are counted.
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

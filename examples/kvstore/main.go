// Command kvstore keeps counters that are distributed over the ranks by a hash of their names. Each rank has
// the primary of one shard and the replica of its neighbour's shard. While its replica lives, a primary answers a
// change only after the replica has made the change. The replica watches the primary, and takes the primary's
// place if the rank of the primary is lost. A client also watches the primary. If the primary is lost before
// its answer, the client sends the change to the replica. A change contains the client's rank and a number,
// by which a shard recognizes a change that arrives twice and makes it only once.
//
//	gorun -np 4 -on-failure continue ./examples/kvstore -crash 2
package main

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

var (
	changes = options.Int("changes", 1000, 0, "`number` of changes that each rank makes")
	keys    = options.Int("keys", 50, 1, "`number` of counters")
	crash   = options.Int("crash", 0, 1, "`rank` from 1 on whose process is killed half way (default: none)")
)

// patience is the timeout for an answer.
const patience = 20 * time.Second

func main() {
	options.Parse()
	runtime.Main(run)
}

// shardName returns the name of the actors of a shard, which is the same for primary and replica.
func shardName(shard int) string { return fmt.Sprint("shard", shard) }

func run(w *runtime.World) error {
	if *crash >= w.Size() {
		return fmt.Errorf("-crash %d: there are ranks 0 to %d", *crash, w.Size()-1)
	}
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	mine, neighbour := w.Rank(), (w.Rank()+w.Size()-1)%w.Size()
	replica := s.PID((w.Rank()+1)%w.Size(), shardName(mine))
	if w.Size() == 1 {
		replica = nil
	}
	if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &shard{replica: replica}
	}), shardName(mine)); err != nil {
		return err
	}
	if neighbour != mine {
		if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &shard{primary: s.PID(neighbour, shardName(neighbour))}
		}), shardName(neighbour)); err != nil {
			return err
		}
	}
	ends := make(chan int, w.Size())
	if w.Rank() == 0 {
		if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &ending{s: s, ends: ends, over: make(map[int]bool)}
		}), "ending"); err != nil {
			return err
		}
	}
	store := &client{s: s}
	for i := range *changes {
		if _, err := store.add(fmt.Sprint("key", i%*keys), 1); err != nil {
			return err
		}
		if *crash > 0 && w.Rank() == *crash && i == *changes/2 {
			options.Crash()
		}
	}
	s.Root.Send(s.PID(0, "ending"), w.Rank())
	if w.Rank() > 0 {
		return nil
	}
	return report(w, store, ends)
}

// report waits until every rank is done or lost, and prints the sum of the counters.
func report(w *runtime.World, store *client, ends <-chan int) error {
	for range w.Size() {
		<-ends
	}
	sum := int64(0)
	for i := range *keys {
		v, err := store.add(fmt.Sprint("key", i), 0)
		if err != nil {
			return err
		}
		sum += v
	}
	fmt.Printf("%d counters, sum %d\n", *keys, sum)
	if *crash > 0 {
		return w.Handled(*crash) // no counter is missing, so the job has not failed
	}
	return nil
}

// ending is the actor that sends each rank to the channel ends, once, when the rank is done or lost. A rank sends its
// number to this actor when the rank is done. If a shard terminates, its rank was lost.
type ending struct {
	s    *actors.System
	ends chan<- int
	over map[int]bool // the ranks that were sent to ends
}

// Receive implements actor.Actor.
func (e *ending) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for rank := range e.s.Size() {
			c.Watch(e.s.PID(rank, shardName(rank)))
		}
	case int:
		e.end(m)
	case *actor.Terminated:
		fmt.Println(m.Who.Address, "is lost")
		if rank, ok := e.s.RankOf(m.Who); ok {
			e.end(rank)
		}
	}
}

// end records that a rank is done or lost. A rank that is done may be lost afterwards.
func (e *ending) end(rank int) {
	if !e.over[rank] {
		e.over[rank] = true
		e.ends <- rank
	}
}

// shardOf returns the number of the shard that holds a key.
func shardOf(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}

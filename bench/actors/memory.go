package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// memoryOfActor measures how many bytes of memory an actor that does nothing takes.
func (b *bench) memoryOfActor() (float64, error) {
	n := b.times(10_000)
	pids := make([]*actor.PID, n)
	before := heapInUse()
	for i := range pids {
		pid, err := b.s.Spawn(actor.PropsFromFunc(func(actor.Context) {}), "")
		if err != nil {
			return 0, err
		}
		pids[i] = pid
	}
	if err := b.settled(0); err != nil {
		return 0, err
	}
	grown := heapInUse() - before
	for _, pid := range pids {
		if err := b.s.Root.StopFuture(pid).Wait(); err != nil {
			return 0, err
		}
	}
	return float64(grown) / float64(n), nil
}

// memoryOfPID measures how many bytes of memory this rank keeps for each actor of rank 1 to which it
// has sent a message.
func (b *bench) memoryOfPID() (float64, error) {
	return b.acquaint(func() (int64, error) { return heapInUse(), nil })
}

// memoryOfLink measures how many bytes of memory rank 1 keeps for each of its actors to which this
// rank has sent a message.
func (b *bench) memoryOfLink() (float64, error) {
	return b.acquaint(func() (int64, error) {
		v, err := b.s.Root.RequestFuture(b.s.PID(1, "founder"), &heap{}, patience).Result()
		if err != nil {
			return 0, err
		}
		used, ok := v.(int64)
		if !ok {
			return 0, fmt.Errorf("%T is no number of bytes", v)
		}
		return used, nil
	})
}

// acquaint makes rank 1 spawn actors and sends a message to each. These messages increase the number of bytes
// that used() returns. acquaint returns this increase in bytes per actor.
func (b *bench) acquaint(used func() (int64, error)) (float64, error) {
	n := b.times(4000)
	v, err := b.s.Root.RequestFuture(b.s.PID(1, "founder"), &crowd{Idle: int64(n)}, patience).Result()
	if err != nil {
		return 0, err
	}
	last, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("%T is no number of actors", v)
	}
	pids := make([]*actor.PID, n)
	before, err := used()
	if err != nil {
		return 0, err
	}
	for i := range pids {
		pids[i] = b.s.PID(1, idleName(last-int64(i)-1))
		b.s.Root.Send(pids[i], int64(i))
	}
	if err := b.settled(1); err != nil {
		return 0, err
	}
	after, err := used()
	goruntime.KeepAlive(pids)
	return float64(after-before) / float64(n), err
}

// settled waits until an actor of a rank has answered a request. When settled returns, all messages that were
// sent from here to that rank before the call have arrived.
func (b *bench) settled(rank int) error {
	_, err := b.s.Root.RequestFuture(b.s.PID(rank, "echo-worker"), &record{}, patience).Result()
	return err
}

// allocations measures how many heap objects this rank allocates to send a Message to an actor. The Messages
// are made before the measurement. They are so long that they are sent by handover if the transport supports this.
func (b *bench) allocations(peer *actor.PID) (float64, error) {
	const batch, length = 32, 4096
	batches := b.times(64)
	messages := make([]*runtime.Message, batch)
	var before, after goruntime.MemStats
	objects := uint64(0)
	for range batches {
		for i := range messages {
			m, err := b.message(length)
			if err != nil {
				return 0, err
			}
			messages[i] = m
		}
		goruntime.ReadMemStats(&before)
		for _, m := range messages {
			b.s.Root.Send(peer, m)
		}
		goruntime.ReadMemStats(&after)
		objects += after.Mallocs - before.Mallocs
		if err := b.counted(peer, batch); err != nil {
			return 0, err
		}
	}
	return float64(objects) / float64(batches*batch), nil
}

// Package registry makes protoactor systems with a smaller table of actors. By default the
// table has 32768 maps, 1024 buckets of 32: some 2 MiB of pointers that every garbage
// collection scans. With many small messages this scan took 5 to 8 % of the time of actors.
//
// It is a package of its own because two packages make systems: runtime/actors for the
// program's actors, and transport/rdma, whose connections are actors.
package registry

import (
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// lettersTime is the interval in which protoactor counts dead letters, to limit how many it logs.
// The goroutine that ends the interval keeps the system and everything reachable from its actors
// in memory up to this time after the last dead letter. Protoactor's default is a second.
const lettersTime = 100 * time.Millisecond

// NewSystem makes a system with a small table.
func NewSystem(log *slog.Logger) *actor.ActorSystem {
	s := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log }),
		actor.WithDeadLetterThrottleCount(2), // only the first dead letter in lettersTime is logged
		actor.WithDeadLetterThrottleInterval(lettersTime),
	)
	Shrink(s)
	return s
}

// Buckets is the number of buckets of the smaller table. A bucket has 32 maps, each with a
// lock of its own.
const Buckets = 16

// Shrink makes the table of a system smaller. No other goroutine may use the system yet.
func Shrink(s *actor.ActorSystem) {
	table := s.ProcessRegistry.LocalPIDs
	if n := len(table.LocalPIDs); n <= Buckets || n%Buckets != 0 {
		return
	}
	// The bucket of an actor is a hash modulo the number of buckets. Since the new number divides
	// the old one, the actors in the first buckets stay there.
	all := table.LocalPIDs
	table.LocalPIDs = slices.Clone(all[:Buckets])
	for _, bucket := range all[Buckets:] {
		bucket.IterCb(func(id string, process any) { table.GetBucket(id).Set(id, process) })
	}
}

// Package registry makes protoactor systems with a smaller table of actors. By default the
// table has 32768 maps, 1024 buckets of 32: some 2 MiB of pointers that every garbage
// collection scans. With many small messages this took 5 to 8 % of the time of actors.
//
// It stands by itself because two packages make systems: that of the program's
// actors, and that of the transport whose connections are actors.
package registry

import (
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// lettersTime is how long protoactor counts dead letters before it logs the next. Its
// goroutine keeps the system and everything reachable from its actors in memory for that
// time after the last dead letter: by default for a second.
const lettersTime = 100 * time.Millisecond

// NewSystem makes a system with a small table.
func NewSystem(log *slog.Logger) *actor.ActorSystem {
	s := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log }),
		actor.WithDeadLetterThrottleCount(2), // one of so many is logged
		actor.WithDeadLetterThrottleInterval(lettersTime),
	)
	Shrink(s)
	return s
}

// Buckets is the number of buckets of the smaller table. A bucket has 32 maps with a lock
// each.
const Buckets = 16

// Shrink makes the table of a system smaller. No other goroutine may use the system yet.
func Shrink(s *actor.ActorSystem) {
	table := s.ProcessRegistry.LocalPIDs
	if n := len(table.LocalPIDs); n <= Buckets || n%Buckets != 0 {
		return
	}
	// The bucket of an actor is a hash modulo their number: those in the first stay
	// there, because the new number divides the old one.
	all := table.LocalPIDs
	table.LocalPIDs = slices.Clone(all[:Buckets])
	for _, bucket := range all[Buckets:] {
		bucket.IterCb(func(id string, process any) { table.GetBucket(id).Set(id, process) })
	}
}

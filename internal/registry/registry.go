// Package registry makes protoactor systems with a smaller table of actors. By default, the table has 1024
// buckets of 32 maps, which is 32768 maps. These are some 2 MiB of pointers, and every garbage collection
// scans them. With many small messages, this scan took 5 to 8 % of the processor time of actors.
//
// Two packages make systems with this package: runtime/actors for the program's actors, and transport/rdma,
// whose connections are actors.
package registry

import (
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// lettersTime is the interval in which protoactor counts dead letters, in order to limit how many it logs. A
// goroutine waits for the end of the interval, which comes at most lettersTime after the last dead letter.
// Until then, the goroutine keeps the system, and everything reachable from its actors, in memory. Protoactor's
// default is 1 s.
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
	// The bucket of an actor is a hash modulo the number of buckets. The new number of buckets divides the
	// old number. For this reason, an actor whose bucket is kept stays in that bucket.
	all := table.LocalPIDs
	table.LocalPIDs = slices.Clone(all[:Buckets])
	for _, bucket := range all[Buckets:] {
		bucket.IterCb(func(id string, process any) { table.GetBucket(id).Set(id, process) })
	}
}

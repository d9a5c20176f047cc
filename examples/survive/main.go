// Command survive is a farm that goes on while its ranks are killed: a worker on every rank asks a farm
// on rank 0 for ranges of numbers, counts the primes in each, and hands in the count. The farm saves what
// it has in the memory of another rank, too, before it answers. So the count is exact, whichever ranks
// are killed, that of the farm included.
//
//	gorun -np 4 -on-failure respawn ./examples/survive -kill 3
//
// With -kill a worker kills its own process, by SIGKILL, after it has counted; any other kill of a rank
// does as well.
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

var (
	limit = options.Int("n", 2_000_000, 1, "count the primes below this `number`")
	parts = options.Int("parts", 200, 1, "`number` of ranges")
	kills = options.Int("kill", 0, 0, "`number` of ranks that are killed, one after the other, each when the farm has answered it (default: none)")
)

func main() {
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		store := actors.NewStore() // it outlives the Worlds of Resume
		return w.Resume(func(w *runtime.World) error { return run(w, store) })
	})
}

// askTime is how long an answer may take. A rank that is lost ends the wait at once.
const askTime = time.Minute

// run works until all ranges are counted, or a rank is lost: then Resume calls it again.
func run(w *runtime.World, store *actors.Store) error {
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	if err := store.Open(s); err != nil {
		return err
	}
	if w.Rank() == 0 {
		props := actor.PropsFromProducer(func() actor.Actor { return newFarm(store) }, store.Persist("farm"))
		if _, err := s.Spawn(props, "farm"); err != nil {
			return err
		}
	}
	if w.Role() == runtime.Recovered {
		fmt.Printf("rank %d is here again, in generation %d of the job\n", w.Rank(), w.Generation())
	}
	return work(w, s)
}

// work counts one range after the other.
func work(w *runtime.World, s *actors.System) error {
	farm := s.PID(0, "farm")
	for done := (count{Part: none}); ; {
		v, err := s.Root.RequestFuture(farm, done, askTime).Result()
		next, ok := v.(task)
		if !ok {
			return lost(w, fmt.Errorf("the farm does not answer: %v, %w", v, err))
		}
		done = count{next.Part, primes(next.From, next.To)} // of none, if there is no range left
		if w.Generation() < *kills && w.Rank() == (w.Generation()+w.Size()-1)%w.Size() {
			fmt.Printf("rank %d is killed\n", w.Rank())
			options.Crash()
		}
		if next.Part == none {
			if w.Rank() == 0 {
				fmt.Printf("%d primes below %d; %d ranks were killed\n", next.Primes, *limit, w.Generation())
			}
			return nil
		}
	}
}

// lost returns the loss of a rank, because of which the farm has not answered or could not save.
func lost(w *runtime.World, why error) error {
	if errors.Is(why, actor.ErrTimeout) {
		return why
	}
	// Nobody sends: it ends with the loss.
	_, err := runtime.Recv(w.Comm(), make([]byte, 1), runtime.AnySource, 0)
	return errors.Join(why, err)
}

// primes counts the primes from one number to another, which is not included.
func primes(from, to int) int {
	n := 0
	for x := max(from, 2); x < to; x++ {
		prime := true
		for d := 2; d*d <= x && prime; d++ {
			prime = x%d != 0
		}
		if prime {
			n++
		}
	}
	return n
}

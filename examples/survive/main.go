// Command survive counts primes in a job that continues while ranks are killed. A worker on every rank asks
// an actor on rank 0, the farm, for a range of numbers. The worker counts the primes in the range and reports
// the count. Before the farm answers, it saves the counts in the memory of its own rank and of another rank. For
// this reason, the result is exact even if the rank of the farm is killed.
//
//	gorun -np 4 -on-failure respawn ./examples/survive -kill 3
//
// With -kill a worker kills its own process by SIGKILL after it has counted a range. If the user kills a rank
// with the command kill, the effect is the same.
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
	kills = options.Int("kill", 0, 0, "`number` of ranks that are killed, one after the other, each after it has counted a range (default: none)")
)

func main() {
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		store := actors.NewStore() // the store is used in all generations, but each generation has its own World
		return w.Resume(func(w *runtime.World) error { return run(w, store) })
	})
}

// askTime is the timeout for an answer of the farm. The loss of a rank ends the wait at once.
const askTime = time.Minute

// run executes the program of one rank in one generation. It returns when all ranges are counted, or
// with an error when a rank is lost. After the loss, Resume calls run again.
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

// work gets ranges from the farm and counts them, one after the other, until no range is left.
func work(w *runtime.World, s *actors.System) error {
	farm := s.PID(0, "farm")
	for done := (count{Part: none}); ; {
		v, err := s.Root.RequestFuture(farm, done, askTime).Result()
		next, ok := v.(task)
		if !ok {
			return lost(w, refused(v, err))
		}
		done = count{next.Part, primes(next.From, next.To)} // if no range is left, From and To are 0
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

// refused returns the error for a request to which the answer is not a task. err is the error of the request. If it is
// nil, the answer is the text of the farm's own error.
func refused(answer any, err error) error {
	if err == nil {
		err = fmt.Errorf("%v", answer)
	}
	return fmt.Errorf("the farm gives no range: %w", err)
}

// lost is called with the error why if the farm has not answered or could not save its counts. In most cases,
// the cause is the loss of a rank. In this case, lost returns the error why joined with the error that
// reports the loss. If the answer has timed out, lost returns only the error why.
func lost(w *runtime.World, why error) error {
	if errors.Is(why, actor.ErrTimeout) {
		return why
	}
	// No rank sends to this receive. The receive returns an error when the runtime reports
	// the loss.
	_, err := runtime.Recv(w.Comm(), make([]byte, 1), runtime.AnySource, 0)
	return errors.Join(why, err)
}

// primes returns the number of primes p with from <= p < to.
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

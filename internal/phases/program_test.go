package phases_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

const (
	// envSeed is the seed of the program that a process runs in place of the tests, envEnd the name of the deadlock
	// behind its phases, "" for none.
	envSeed = "GORUN_TEST_SEED"
	envEnd  = "GORUN_TEST_END"
	// phasesMost bounds the phases of a program.
	phasesMost = 8
	// A long pause is longer than what a rank waits before it reports that it waits. One phase of a program
	// has one.
	shortPause = 200 * time.Millisecond
	longPause  = 2500 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(envSeed) != "" {
		runtime.Main(func(w *runtime.World) error { return program(w, os.Getenv(envSeed), os.Getenv(envEnd)) })
		return
	}
	launch.Main(m)
}

// phase is one phase, of which all ranks know all.
type phase struct {
	wait   wait
	pause  pause
	late   int // the rank for which the others wait
	length time.Duration
}

// String is what a failure says.
func (p phase) String() string {
	return fmt.Sprintf("%s: rank %d %s for %v", p.wait.name, p.late, p.pause.name, p.length)
}

// plan returns the phases of a seed.
func plan(seed uint64, ranks int) []phase {
	random := rand.New(rand.NewPCG(seed, 0))
	phases := make([]phase, 3+random.IntN(phasesMost-2))
	long := random.IntN(len(phases))
	for i := range phases {
		p := phase{wait: waits[random.IntN(len(waits))], pause: pauses[random.IntN(len(pauses))], late: random.IntN(ranks)}
		if p.length = time.Duration(random.Int64N(int64(shortPause))); i == long {
			p.length = longPause
		}
		phases[i] = p
	}
	return phases
}

// rank is what a rank of a program has.
type rank struct {
	*runtime.Comm
	world  *runtime.World
	system *actors.System
	phases []phase
	tag    int // of the phase
}

// program runs the phases of a seed and the deadlock.
func program(w *runtime.World, seed, end string) error {
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	r := &rank{Comm: w.Comm(), world: w}
	if number > 0 { // else there is an end alone
		r.phases = plan(number, w.Size())
	}
	if needsActors(r.phases, end) {
		if err := r.startActors(); err != nil {
			return err
		}
	}
	for i, p := range r.phases {
		r.tag = i * tagStride
		if err := p.wait.run(r, p); err != nil {
			return fmt.Errorf("phase %d, %v: %w", i, p, err)
		}
	}
	if end == "" {
		return nil
	}
	if strings.HasPrefix(end, "mismatch ") {
		return r.runMismatch(end)
	}
	if end == crowd {
		return r.crowd()
	}
	r.tag = len(r.phases) * tagStride
	for _, d := range deadlocks {
		if d.name == end {
			if err := d.run(r); !errors.Is(err, errLeft) {
				return errors.Join(err, fmt.Errorf("%s has ended", end))
			}
			return nil
		}
	}
	return fmt.Errorf("no deadlock %q", end)
}

// tagStride is the number of tags of a phase.
const tagStride = 4

// needsActors reports whether a phase or a deadlock is one of actors. Other ranks have none.
func needsActors(phases []phase, end string) bool {
	for _, p := range phases {
		if p.wait.actors {
			return true
		}
	}
	for _, d := range deadlocks {
		if d.name == end {
			return d.actors
		}
	}
	return false
}

// isLate reports whether this rank is the one for which the others wait.
func (r *rank) isLate(p phase) bool { return r.Rank() == p.late }

// next is the next rank.
func (r *rank) next() int { return (r.Rank() + 1) % r.Size() }

// others calls a function for all other ranks.
func (r *rank) others(fn func(rank int) error) error {
	for other := range r.Size() {
		if other != r.Rank() {
			if err := fn(other); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell sends a number to all others, with an offset of the tag.
func (r *rank) tell(offset int) error {
	return r.others(func(other int) error { return runtime.Send(r.Comm, []int{r.tag}, other, r.tag+offset) })
}

// hear receives such a number.
func (r *rank) hear(source, offset int) error {
	got := []int{-1}
	_, err := runtime.Recv(r.Comm, got, source, r.tag+offset)
	return errors.Join(err, r.check(got[0]))
}

// check compares what has come with what tell sends.
func (r *rank) check(got int) error {
	if got != r.tag {
		return fmt.Errorf("got %d, want %d", got, r.tag)
	}
	return nil
}

// meet ends a phase in which ranks could run ahead of a receive from any source.
func (r *rank) meet() error { return collectives.Barrier(r.Comm) }

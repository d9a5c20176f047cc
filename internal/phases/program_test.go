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
	// envSeed is the variable with the seed of the program that a process runs in place of the
	// tests. envEnd is the variable with the name of the deadlock after its phases, "" for none.
	envSeed = "GORUN_TEST_SEED"
	envEnd  = "GORUN_TEST_END"
	// phasesMost bounds the phases of a program.
	phasesMost = 8
	// A long pause is longer than the time after which a rank reports that it waits. Exactly one
	// phase of a program has a long pause.
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

// phase is one phase of a program. All ranks know all phases.
type phase struct {
	wait   wait
	pause  pause
	late   int // the rank for which the others wait
	length time.Duration
}

// String describes the phase for a failure of the test.
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

// rank is the state of a rank of a program.
type rank struct {
	*runtime.Comm
	world  *runtime.World
	system *actors.System
	phases []phase
	tag    int // first tag of the phase
}

// program runs the phases of a seed and then the deadlock.
func program(w *runtime.World, seed, end string) error {
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	r := &rank{Comm: w.Comm(), world: w}
	if number > 0 { // seed 0 has no phases
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

// needsActors reports whether a phase or the deadlock needs actors. Otherwise, the ranks have no
// actors.
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

// isLate reports whether the other ranks wait for this rank.
func (r *rank) isLate(p phase) bool { return r.Rank() == p.late }

// next returns the next rank in a ring.
func (r *rank) next() int { return (r.Rank() + 1) % r.Size() }

// others calls a function for each other rank.
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

// tell sends r.tag to all other ranks, with the tag r.tag+offset.
func (r *rank) tell(offset int) error {
	return r.others(func(other int) error { return runtime.Send(r.Comm, []int{r.tag}, other, r.tag+offset) })
}

// hear receives a message of tell.
func (r *rank) hear(source, offset int) error {
	got := []int{-1}
	_, err := runtime.Recv(r.Comm, got, source, r.tag+offset)
	return errors.Join(err, r.check(got[0]))
}

// check compares a received number with the number that tell sends.
func (r *rank) check(got int) error {
	if got != r.tag {
		return fmt.Errorf("got %d, want %d", got, r.tag)
	}
	return nil
}

// meet ends a phase with a barrier, so that no rank can run ahead while another rank receives
// from any source.
func (r *rank) meet() error { return collectives.Barrier(r.Comm) }

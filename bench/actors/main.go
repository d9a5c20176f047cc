// Command actors measures actors within a rank and between ranks. It measures the time of a message, the time
// of a request and its answer, the number of messages per second, and the memory of an actor. Rank 0
// measures. Most of the actors that answer and count are on rank 1. With -local, all actors are on rank 0.
//
//	gorun -np 2 -bind-to core ./bench/actors                   # between ranks of a node
//	gorun -np 2 -bind-to core -transport rdma ./bench/actors   # over loopback TCP
//	gorun -np 1 ./bench/actors -local                          # within a rank
//
// Each line of the output is one measurement: its name in 36 columns, its value and its unit. A name may have
// spaces, and the unit may be empty. Programs such as bench/peers parse these lines. The flag -only selects
// measurements.
package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

var (
	only   = flag.String("only", "", "measure only what has this `text` in its name")
	rounds = flag.Int("rounds", 5, "number of `times` that each measurement is repeated, after a shorter one as a warm-up; the median is printed")
	scale  = flag.Float64("scale", 1, "`factor` for the numbers of messages and actors")
	local  = flag.Bool("local", false, "measure actors of one rank")
)

func main() {
	flag.Parse()
	runtime.Main(func(w *runtime.World) error {
		if !*local && w.Size() < 2 {
			return fmt.Errorf("actors needs at least 2 ranks (it has %d), or the flag -local", w.Size())
		}
		if *local && w.Size() > 1 {
			return fmt.Errorf("-local measures one rank, not %d", w.Size())
		}
		if *rounds < 1 {
			return fmt.Errorf("-rounds %d: it must be at least 1", *rounds)
		}
		s, err := actors.OfConfig(w, actors.Config{})
		if err != nil {
			return err
		}
		if err := spawnHost(s); err != nil {
			return err
		}
		switch w.Rank() {
		case 0:
			return measure(&bench{w: w, s: s, scale: *scale})
		case 1:
			return serve(w, s)
		default:
			return nil
		}
	})
}

// bench holds the arguments of a measurement.
type bench struct {
	w     *runtime.World
	s     *actors.System
	scale float64
}

// times returns the number n of messages or actors multiplied by the scale, at least 1.
func (b *bench) times(n int) int { return max(1, int(float64(n)*b.scale)) }

// measure makes the measurements that the flags select and prints a line for each.
func measure(b *bench) error {
	chosen := betweenRanks
	if *local {
		chosen = withinRank
	}
	for _, m := range chosen {
		if !strings.Contains(m.name, *only) {
			continue
		}
		v, err := b.median(&m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%-36s %14.3f %s\n", m.name, v, m.unit)
	}
	if !*local {
		dismiss(b.s)
	}
	return nil
}

// median makes a measurement -rounds times and returns the median of the values. Before that, it makes the
// measurement once with a tenth of the messages, and discards the value.
func (b *bench) median(m *measurement) (float64, error) {
	if _, err := m.run(&bench{w: b.w, s: b.s, scale: b.scale / 10}); err != nil {
		return 0, err
	}
	values := make([]float64, 0, *rounds)
	for range *rounds {
		v, err := m.run(b)
		if err != nil {
			return 0, err
		}
		values = append(values, v)
	}
	slices.Sort(values)
	return values[len(values)/2], nil
}

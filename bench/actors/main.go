// Command actors measures actors between ranks: how long a request and its answer
// take, how many messages a second pass, what actors cost in memory. Rank 0
// measures; every other rank hosts the actors that answer and count.
//
//	gorun -np 2 -bind-to core ./bench/actors
//
// Each line is one measurement, "name value unit", so that runs can be compared
// by a program; -only picks some.
package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

var (
	only   = flag.String("only", "", "measure only what has this `text` in its name")
	rounds = flag.Int("rounds", 5, "`times` that each is measured; the median is printed")
	scale  = flag.Float64("scale", 1, "`factor` for the numbers of messages")
)

func main() {
	flag.Parse()
	runtime.Main(func(w *runtime.World) error {
		if w.Size() < 2 {
			return fmt.Errorf("%d rank is too few", w.Size())
		}
		s, err := actors.OfConfig(w, actors.Config{})
		if err != nil {
			return err
		}
		h := &host{s: s}
		if err := h.spawn(); err != nil {
			return err
		}
		if w.Rank() != 0 {
			return serve(w, s)
		}
		for _, m := range measurements {
			if !strings.Contains(m.name, *only) {
				continue
			}
			values := make([]float64, 0, *rounds)
			for range *rounds {
				v, err := m.run(w, s)
				if err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
				values = append(values, v)
			}
			fmt.Printf("%-36s %14.2f %s\n", m.name, median(values), m.unit)
		}
		dismiss(s)
		return nil
	})
}

// Command pi computes pi as the integral of 4/(1+x^2) from 0 to 1, with the midpoint rule. Each rank
// adds up the intervals of its share, and a reduction adds the sums of the ranks.
//
//	gorun -np 4 ./examples/pi -n 100000000
package main

import (
	"fmt"
	"math"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	intervals := options.Int("n", 100_000_000, 1, "`number` of intervals")
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		start := time.Now()
		sum, err := pi(w.Comm(), *intervals)
		if err == nil && w.Rank() == 0 {
			fmt.Printf("pi is about %.13f, error %.1e, %d ranks, %v\n",
				sum, math.Abs(sum-math.Pi), w.Size(), time.Since(start).Round(time.Microsecond))
		}
		return err
	})
}

// pi returns the integral at rank 0, and 0 at the other ranks.
func pi(c *runtime.Comm, intervals int) (float64, error) {
	// The flag gives every rank the same number. The Bcast shows how rank 0 passes on a number that only rank 0
	// knows, for example because it asked the user.
	n := []int{intervals}
	if err := collectives.Bcast(c, n, 0); err != nil {
		return 0, err
	}
	width := 1 / float64(n[0])
	var part float64
	for i := c.Rank(); i < n[0]; i += c.Size() {
		x := width * (float64(i) + 0.5)
		part += 4 / (1 + x*x)
	}
	whole := make([]float64, 1)
	err := collectives.Reduce(c, []float64{part * width}, whole, collectives.Sum, 0)
	return whole[0], err
}

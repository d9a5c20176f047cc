// Command pi integrates 4/(1+x^2) from 0 to 1, which is pi, with the midpoint
// rule. The ranks share the intervals and add up their parts.
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

// pi returns the sum at rank 0.
func pi(c *runtime.Comm, intervals int) (float64, error) {
	// Rank 0 decides, as it would if it had asked a user.
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

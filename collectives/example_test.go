package collectives_test

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Ranks take turns: nobody begins a step before everybody has ended the one before.
func ExampleBarrier() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		for step := range 6 {
			if step%c.Size() == c.Rank() {
				fmt.Println("step", step, "is that of rank", c.Rank())
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// step 0 is that of rank 0
	// step 1 is that of rank 1
	// step 2 is that of rank 2
	// step 3 is that of rank 0
	// step 4 is that of rank 1
	// step 5 is that of rank 2
	// <nil>
}

// One rank knows the parameters of a computation, and tells all others.
func ExampleBcast() {
	type parameters struct {
		Steps int
		Width float64
	}
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		p := make([]parameters, 1)
		if c.Rank() == 0 {
			p[0] = parameters{Steps: 100, Width: 0.25}
		}
		if err := collectives.Bcast(c, p, 0); err != nil {
			return err
		}
		fmt.Printf("rank %d: %+v\n", c.Rank(), p[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0: {Steps:100 Width:0.25}
	// rank 1: {Steps:100 Width:0.25}
	// rank 2: {Steps:100 Width:0.25}
	// <nil>
}

// Each rank integrates a part of an interval, and one of them gets the sum, which is pi.
func ExampleReduce() {
	err := runtime.Local(4, func(w *runtime.World) error {
		c := w.Comm()
		const steps = 1000
		part := 0.0
		for i := c.Rank(); i < steps; i += c.Size() {
			x := (float64(i) + 0.5) / steps
			part += 4 / (1 + x*x) / steps
		}
		sum := make([]float64, 1) // used at the root alone
		if err := collectives.Reduce(c, []float64{part}, sum, collectives.Sum, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("%.5f\n", sum[0])
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 3.14159
	// <nil>
}

// Every rank gets the length of a vector of which it holds a part.
func ExampleAllReduce() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		part := []float64{3, 0}
		if c.Rank() == 1 {
			part = []float64{0, 4}
		}
		squares := []float64{part[0]*part[0] + part[1]*part[1]}
		if err := collectives.AllReduce(c, squares, squares, collectives.Sum); err != nil { // in place
			return err
		}
		fmt.Println("rank", c.Rank(), "has length", math.Sqrt(squares[0]))
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 has length 5
	// rank 1 has length 5
	// <nil>
}

// One rank collects the results of all, in the order of the ranks.
func ExampleGather() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		mine := []int{c.Rank(), c.Rank() * c.Rank()}
		var all []int
		if c.Rank() == 0 {
			all = make([]int, len(mine)*c.Size())
		}
		if err := collectives.Gather(c, mine, all, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [0 0 1 1 2 4]
	// <nil>
}

// One rank gives every rank its part of the work.
func ExampleScatter() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		var all []float64 // used at the root alone
		if c.Rank() == 0 {
			all = []float64{1, 2, 3, 4, 5, 6}
		}
		mine := make([]float64, 2)
		if err := collectives.Scatter(c, all, mine, 0); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), "gets", mine)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 gets [1 2]
	// rank 1 gets [3 4]
	// rank 2 gets [5 6]
	// <nil>
}

// Every rank learns how many elements each rank has, hence where its own begin.
func ExampleAllGather() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		mine := 10 * (c.Rank() + 1)
		counts := make([]int, c.Size())
		if err := collectives.AllGather(c, []int{mine}, counts); err != nil {
			return err
		}
		first := 0
		for _, n := range counts[:c.Rank()] {
			first += n
		}
		fmt.Println("rank", c.Rank(), "has elements", first, "to", first+mine-1)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 has elements 0 to 9
	// rank 1 has elements 10 to 29
	// rank 2 has elements 30 to 59
	// <nil>
}

// A matrix of which each rank holds a row is transposed.
func ExampleAllToAll() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		row := make([]int, c.Size())
		for i := range row {
			row[i] = 10*c.Rank() + i
		}
		column := make([]int, c.Size())
		if err := collectives.AllToAll(c, row, column); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), "had", row, "and has", column)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 had [0 1 2] and has [0 10 20]
	// rank 1 had [10 11 12] and has [1 11 21]
	// rank 2 had [20 21 22] and has [2 12 22]
	// <nil>
}

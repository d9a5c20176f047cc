package collectives_test

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Ranks take turns: no rank begins a step before all ranks have ended the previous step.
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

// One rank has the parameters of a computation and broadcasts them to all others.
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

// Each rank integrates part of an interval, and the root gets the sum of the parts, which is pi.
func ExampleReduce() {
	err := runtime.Local(4, func(w *runtime.World) error {
		c := w.Comm()
		const steps = 1000
		part := 0.0
		for i := c.Rank(); i < steps; i += c.Size() {
			x := (float64(i) + 0.5) / steps
			part += 4 / (1 + x*x) / steps
		}
		sum := make([]float64, 1) // used only at the root
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

// The root collects the results of all ranks, in the order of the ranks.
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

// The root gives every rank its part of the data.
func ExampleScatter() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		var all []float64 // used only at the root
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

// Every rank learns how many elements each rank has, and computes the index of its own first
// element.
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

// Each rank holds a row of a matrix. AllToAll transposes the matrix: each rank then holds a column.
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

// Rank 0 starts a barrier. While the barrier is in progress, rank 0 sends a message to rank 1. Rank 1
// enters the barrier only after it has received this message.
func ExampleIBarrier() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 1 { // enters the barrier only after it has received a message
			if _, err := runtime.Recv(c, make([]int, 1), 0, 0); err != nil {
				return err
			}
			_, err := collectives.IBarrier(c).Wait()
			return err
		}
		barrier := collectives.IBarrier(c)
		fmt.Println("all are there:", barrier.Done())
		if err := runtime.Send(c, []int{1}, 1, 0); err != nil {
			return err
		}
		_, err := barrier.Wait()
		fmt.Println("after Wait:", err)
		return err
	})
	fmt.Println(err)
	// Output:
	// all are there: false
	// after Wait: <nil>
	// <nil>
}

// Two ranks broadcast at the same time, and every rank waits for both operations together.
func ExampleIBcast() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		first, second := make([]int, 2), make([]float64, 1)
		switch c.Rank() {
		case 0:
			copy(first, []int{7, 8})
		case 1:
			second[0] = 0.5
		}
		requests := []runtime.Request{collectives.IBcast(c, first, 0), collectives.IBcast(c, second, 1)}
		if err := runtime.WaitAll(requests); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), "has", first, second)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 has [7 8] [0.5]
	// rank 1 has [7 8] [0.5]
	// rank 2 has [7 8] [0.5]
	// <nil>
}

// A reduction progresses while the rank exchanges messages with its neighbors. The rank then waits
// for all requests together.
func ExampleIAllReduce() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		mine := []float64{float64(c.Rank())}
		largest, edge := make([]float64, 1), make([]float64, 1)
		reduction := collectives.IAllReduce(c, mine, largest, collectives.Max)
		receive := runtime.Irecv(c, edge, left, 0)
		send := runtime.Isend(c, mine, right, 0)
		if err := runtime.WaitAll([]runtime.Request{reduction, receive, send}); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), "largest", largest[0], "from the left", edge[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 largest 2 from the left 2
	// rank 1 largest 2 from the left 0
	// rank 2 largest 2 from the left 1
	// <nil>
}

// A user-defined operator finds the smallest value and the rank that has it.
func ExampleFunc() {
	type found struct {
		Value float64
		Rank  int
	}
	smaller := collectives.Func(func(a, b found) found {
		if b.Value < a.Value || b.Value == a.Value && b.Rank < a.Rank {
			return b
		}
		return a
	}, true)
	values := []float64{2.5, 0.5, 1.5}
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		least := make([]found, 1)
		err := collectives.Reduce(c, []found{{values[c.Rank()], c.Rank()}}, least, smaller, 0)
		if c.Rank() == 0 {
			fmt.Printf("%+v\n", least[0])
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// {Value:0.5 Rank:1}
	// <nil>
}

// A reduction with an operator that does not commute combines the operands in the order of the ranks.
// In this example the operands are matrices, one at each rank, and the operator is their product.
func ExampleFunc_order() {
	type matrix [2][2]int
	product := collectives.Func(func(a, b matrix) (p matrix) {
		for i := range p {
			for j := range p[i] {
				p[i][j] = a[i][0]*b[0][j] + a[i][1]*b[1][j]
			}
		}
		return p
	}, false)
	factors := []matrix{{{1, 2}, {0, 1}}, {{0, 1}, {1, 0}}, {{3, 0}, {0, 1}}}
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		all := make([]matrix, 1)
		err := collectives.AllReduce(c, factors[c.Rank():c.Rank()+1], all, product)
		if c.Rank() == 2 {
			fmt.Println(all[0])
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [[6 1] [3 0]]
	// <nil>
}

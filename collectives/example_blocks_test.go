package collectives_test

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Each rank has found some cells. A rank begins to write its cells at a position that is the sum of
// the numbers of cells of all lower ranks.
func ExampleExScan() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		found, first := []int{10 * (c.Rank() + 1)}, []int{0} // ExScan leaves the result of rank 0 unchanged
		if err := collectives.ExScan(c, found, first, collectives.Sum); err != nil {
			return err
		}
		fmt.Printf("rank %d writes %d cells from %d on\n", c.Rank(), found[0], first[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 writes 10 cells from 0 on
	// rank 1 writes 20 cells from 10 on
	// rank 2 writes 30 cells from 30 on
	// <nil>
}

// Rank r gets the product of the numbers of ranks 0 to r: the factorial of r+1.
func ExampleScan() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		upTo := make([]int, 1)
		if err := collectives.Scan(c, []int{c.Rank() + 1}, upTo, collectives.Prod); err != nil {
			return err
		}
		fmt.Printf("%d! = %d\n", c.Rank()+1, upTo[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// 1! = 1
	// 2! = 2
	// 3! = 6
	// <nil>
}

// Ranks have rows of different lengths. Rank 0 gathers all rows without gaps.
func ExampleGatherV() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		mine := []byte("abcdef")[:2*c.Rank()]
		var all []byte
		var counts []int
		if c.Rank() == 0 { // only the root needs all and counts
			all, counts = make([]byte, 6), []int{0, 2, 4}
		}
		if err := collectives.GatherV(c, mine, all, counts, nil, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("%s\n", all)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// ababcd
	// <nil>
}

// Rank 0 scatters blocks that overlap: each rank gets its cells and the neighbors of these cells.
func ExampleScatterV() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		cells := []byte("01234567")
		part := make([]byte, 5)
		if err := collectives.ScatterV(c, cells, []int{5, 5}, []int{0, 3}, part, 0); err != nil {
			return err
		}
		fmt.Printf("rank %d: %s\n", c.Rank(), part)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0: 01234
	// rank 1: 34567
	// <nil>
}

// Every rank gets the rows of all ranks. All ranks know the length of each row.
func ExampleAllGatherV() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		counts := []int{1, 3}
		mine := []byte("xyz")[:counts[c.Rank()]]
		all := []byte("......")
		if err := collectives.AllGatherV(c, mine, all, counts, []int{5, 1}); err != nil {
			return err
		}
		fmt.Printf("rank %d: %s\n", c.Rank(), all)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0: .xyz.x
	// rank 1: .xyz.x
	// <nil>
}

// Each rank sends even numbers to rank 0 and odd numbers to rank 1. Before that, an AllToAll exchanges
// how many numbers each rank sends to each rank.
func ExampleAllToAllV() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		even, odd := []int{2, 4, 6}, []int{1}
		if c.Rank() == 1 {
			even, odd = []int{8}, []int{3, 5}
		}
		send := slices.Concat(even, odd)
		lengths := make([]int, 2)
		if err := collectives.AllToAll(c, []int{len(even), len(odd)}, lengths); err != nil {
			return err
		}
		recv := make([]int, lengths[0]+lengths[1])
		if err := collectives.AllToAllV(c, send, []int{len(even), len(odd)}, nil, recv, lengths, nil); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), recv)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 [2 4 6 8]
	// rank 1 [1 3 5]
	// <nil>
}

// Two ranks add their vectors. Each rank gets the block of the sum that it needs.
func ExampleReduceScatter() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		counts := []int{1, 3}
		part := make([]int, counts[c.Rank()])
		if err := collectives.ReduceScatter(c, []int{1, 2, 3, 4}, part, counts, collectives.Sum); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), part)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 [2]
	// rank 1 [4 6 8]
	// <nil>
}

// Two ranks compute the element-wise maximum of their vectors. Each rank gets one half of the result.
func ExampleReduceScatterBlock() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		part := make([]int, 2)
		if err := collectives.ReduceScatterBlock(c, []int{1, 2, 3, 4}, part, collectives.Max); err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), part)
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 [1 2]
	// rank 1 [3 4]
	// <nil>
}

// Every rank gets the least value of all ranks and the rank that has this value. If several ranks have
// the value, the result names the lowest of these ranks.
func ExampleMinLoc() {
	lowest := collectives.MinLoc[float64]()
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		mine := []collectives.Located[float64]{{Value: []float64{3, 1, 1}[c.Rank()], Index: c.Rank()}}
		least := make([]collectives.Located[float64], 1)
		if err := collectives.AllReduce(c, mine, least, lowest); err != nil || c.Rank() > 0 {
			return err
		}
		fmt.Printf("%v at rank %d\n", least[0].Value, least[0].Index)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 at rank 1
	// <nil>
}

// A sum that is needed in every step is set up once as a persistent operation, and started in each
// step.
func ExampleAllReduceInit() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		mine, sum := make([]int, 1), make([]int, 1)
		total := collectives.AllReduceInit(c, mine, sum, collectives.Sum)
		defer total.Close()
		for step := range 3 {
			mine[0] = step + c.Rank()
			if err := total.Start(); err != nil {
				return err
			}
			// Other work can be done here while the sum is in flight.
			if _, err := total.Wait(); err != nil {
				return err
			}
			if c.Rank() == 0 {
				fmt.Println(sum[0])
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1
	// 3
	// 5
	// <nil>
}

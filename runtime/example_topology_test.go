package runtime_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// Six ranks form a grid of three rows that is periodic in the first dimension. Each rank gets the
// coordinates of the previous rank in that dimension.
func ExampleComm_CreateCart() {
	err := runtime.Local(6, func(w *runtime.World) error {
		dims, err := runtime.DimsCreate(w.Size(), []int{0, 0})
		if err != nil {
			return err
		}
		cart, err := w.Comm().CreateCart(dims, []bool{true, false}, true)
		if err != nil {
			return err
		}
		defer cart.Close()
		at, err := cart.Coords(cart.Rank())
		if err != nil {
			return err
		}
		source, dest, err := cart.Shift(0, 1)
		if err != nil {
			return err
		}
		got := make([]int, 2)
		if _, err := runtime.SendRecv(cart.Comm, at, dest, 0, got, source, 0); err != nil {
			return err
		}
		if cart.Rank() == 0 {
			fmt.Println("a grid of", cart.Dims(), "and before", at, "is", got)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// a grid of [3 2] and before [0 0] is [2 0]
	// <nil>
}

// The ranks of each node get a communicator, and its rank 0 can act for the node.
func ExampleComm_SplitType() {
	err := runtime.Local(3, func(w *runtime.World) error {
		node, err := w.Comm().SplitType(runtime.SharedNode, 0)
		if err != nil {
			return err
		}
		defer node.Close()
		if node.Rank() == 0 {
			fmt.Println("rank", w.Rank(), "speaks for", node.Size())
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// rank 0 speaks for 3
	// <nil>
}

// Each rank sends to the next two ranks, and passes its own edges to CreateGraphAdjacent.
func ExampleComm_CreateGraphAdjacent() {
	err := runtime.Local(5, func(w *runtime.World) error {
		n, me := w.Size(), w.Rank()
		graph, err := w.Comm().CreateGraphAdjacent([]int{(me + n - 1) % n, (me + n - 2) % n}, nil, []int{(me + 1) % n, (me + 2) % n}, nil, false)
		if err != nil {
			return err
		}
		defer graph.Close()
		sources, dests, err := graph.Neighbors()
		if graph.Rank() == 0 {
			fmt.Println("from", sources, "to", dests)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// from [4 3] to [1 2]
	// <nil>
}

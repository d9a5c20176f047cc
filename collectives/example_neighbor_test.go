package collectives_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// The ranks form a ring, and each rank gets a value from each of its two neighbors: the halo
// exchange of a stencil.
func ExampleNeighborAllGather() {
	err := runtime.Local(4, func(w *runtime.World) error {
		line, err := w.Comm().CreateCart([]int{w.Size()}, []bool{true}, false)
		if err != nil {
			return err
		}
		defer line.Close()
		halo := make([]int, 2)
		if err := collectives.NeighborAllGather(line.Comm, []int{10 * line.Rank()}, halo); err != nil {
			return err
		}
		if line.Rank() == 0 {
			fmt.Println("left", halo[0], "right", halo[1])
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// left 30 right 10
	// <nil>
}

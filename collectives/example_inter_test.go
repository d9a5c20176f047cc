package collectives_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Two ranks simulate an ocean, and three ranks the atmosphere above it. Each group gets the sum of
// the values of the other group.
func ExampleInterAllReduce() {
	err := runtime.Local(5, func(w *runtime.World) error {
		part, other := 0, 2 // the leader of the other part is rank 2
		if w.Rank() >= 2 {
			part, other = 1, 0
		}
		group, err := w.Comm().Split(part, 0)
		if err != nil {
			return err
		}
		defer group.Close()
		coupled, err := group.CreateIntercomm(0, w.Comm(), other, 0)
		if err != nil {
			return err
		}
		defer coupled.Close()
		sum := make([]int, 1)
		if err := collectives.InterAllReduce(coupled, []int{w.Rank()}, sum, collectives.Sum); err != nil {
			return err
		}
		if coupled.Rank() == 0 {
			fmt.Println("part", part, "gets", sum[0])
		}
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// part 0 gets 9
	// part 1 gets 1
	// <nil>
}

package runtime_test

import (
	"context"
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// A test of a program that continues after the loss of a rank: here rank 1 panics once.
func ExampleLocalRespawn() {
	err := runtime.LocalRespawn(context.Background(), 2, 3, func(w *runtime.World) error {
		return w.Resume(func(w *runtime.World) error {
			if w.Rank() == 1 && w.Generation() == 0 {
				panic("lost")
			}
			got := make([]int, 1)
			_, err := runtime.SendRecv(w.Comm(), []int{w.Rank()}, 1-w.Rank(), 0, got, 1-w.Rank(), 0)
			if err == nil && w.Rank() == 0 {
				fmt.Println("rank 0, a", w.Role(), "of generation", w.Generation(), "received", got[0])
			}
			return err
		})
	})
	fmt.Println(err)
	// Output:
	// rank 0, a survivor of generation 1 received 1
	// <nil>
}

package runtime_test

import (
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/runtime"
)

// Ranks as goroutines: this is how a program is tested.
func ExampleLocal() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() > 0 {
			return runtime.Send(c, []float64{float64(c.Rank()), 0.5}, 0, 7)
		}
		sum, pair := 0.0, make([]float64, 2)
		for range c.Size() - 1 {
			if _, err := runtime.Recv(c, pair, runtime.AnySource, 7); err != nil {
				return err
			}
			sum += pair[0] + pair[1]
		}
		fmt.Fprintln(os.Stdout, "sum", sum)
		return nil
	})
	fmt.Fprintln(os.Stdout, err)
	// Output:
	// sum 4
	// <nil>
}

// A column of a matrix is sent from where it lies.
func ExampleSendStrided() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			matrix := []int{
				1, 2, 3,
				4, 5, 6,
			}
			column := runtime.Strided{Count: 2, Block: 1, Stride: 3}
			return runtime.SendStrided(c, matrix[2:], column, 1, 0)
		}
		got := make([]int, 2)
		_, err := runtime.Recv(c, got, 0, 0)
		fmt.Fprintln(os.Stdout, got)
		return err
	})
	fmt.Fprintln(os.Stdout, err)
	// Output:
	// [3 6]
	// <nil>
}

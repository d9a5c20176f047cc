package collectives_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Each rank counts the letters of a text in a map, and a function adds the maps.
func ExampleAllReduceValue() {
	texts := []string{"to be or", "not to be"}
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		counts := map[rune]int{}
		for _, letter := range texts[c.Rank()] {
			counts[letter]++
		}
		all, err := collectives.AllReduceValue(c, counts, func(a, b map[rune]int) map[rune]int {
			for letter, n := range b {
				a[letter] += n
			}
			return a
		})
		if c.Rank() == 0 {
			fmt.Println(all['o'], all['t'], all['b'])
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 4 3 2
	// <nil>
}

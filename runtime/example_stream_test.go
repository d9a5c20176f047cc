package runtime_test

import (
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
)

// One rank sends a sequence of words as a stream, and the other one receives them in a loop.
func ExampleStream() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			return runtime.SendStream(c, func(yield func(string, error) bool) {
				for word := range strings.FieldsSeq("one two three") {
					if !yield(word, nil) {
						return // the receiver has left its loop
					}
				}
			}, 1, 0)
		}
		for word, err := range runtime.Stream[string](c, 0, 0) {
			if err != nil {
				return err
			}
			fmt.Println(word)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// one
	// two
	// three
	// <nil>
}

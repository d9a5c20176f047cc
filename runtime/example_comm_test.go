package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/runtime"
)

// The even ranks and the odd ranks each get a communicator in which ranks count from 0.
func ExampleComm_Split() {
	err := runtime.Local(5, func(w *runtime.World) error {
		c := w.Comm()
		half, err := c.Split(c.Rank()%2, -c.Rank()) // the negative key makes the highest rank the first
		if err != nil {
			return err
		}
		fmt.Println("rank", c.Rank(), "is", half.Rank(), "of", half.Size())
		return half.Close()
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 is 2 of 3
	// rank 2 is 1 of 3
	// rank 4 is 0 of 3
	// rank 1 is 1 of 2
	// rank 3 is 0 of 2
	// <nil>
}

// Messages on a duplicate are never received on the original, even with the same tag, so that a
// library can choose its tags independently of the program.
func ExampleComm_Dup() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		library, err := c.Dup()
		if err != nil {
			return err
		}
		defer library.Close()
		if c.Rank() == 0 {
			first := runtime.Send(library, []int{1}, 1, 0)
			return errors.Join(first, runtime.Send(c, []int{2}, 1, 0))
		}
		of := make([]int, 1)
		_, err = runtime.Recv(c, of, runtime.AnySource, runtime.AnyTag)
		fmt.Println("the program's:", of[0])
		if err != nil {
			return err
		}
		_, err = runtime.Recv(library, of, runtime.AnySource, runtime.AnyTag)
		fmt.Println("the library's:", of[0])
		return err
	})
	fmt.Println(err)
	// Output:
	// the program's: 2
	// the library's: 1
	// <nil>
}

// A receive ends after a timeout, and a later receive gets the message that arrives afterwards.
func ExampleComm_WithContext() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		value := make([]int, 1)
		if c.Rank() == 1 { // sends only when rank 0 asks
			if _, err := runtime.Recv(c, value, 0, 0); err != nil {
				return err
			}
			return runtime.Send(c, []int{42}, 0, 0)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, err := runtime.Recv(c.WithContext(ctx), value, 1, 0)
		fmt.Println("given up:", errors.Is(err, context.DeadlineExceeded))
		if err := runtime.Send(c, value, 1, 0); err != nil {
			return err
		}
		_, err = runtime.Recv(c, value, 1, 0)
		fmt.Println("received:", value[0])
		return err
	})
	fmt.Println(err)
	// Output:
	// given up: true
	// received: 42
	// <nil>
}

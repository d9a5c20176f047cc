package runtime_test

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// A step counts only if it succeeded at every rank. Otherwise the ranks that live continue in a
// communicator of their own.
func ExampleComm_Agree() {
	err := runtime.Local(4, func(w *runtime.World) error {
		c := w.Comm()
		good := uint64(1)
		if w.Rank() == 2 {
			good = 0 // as if an operation had failed
			c.Revoke(nil)
		}
		all, err := c.Agree(good)
		if err == nil && all == 1 {
			return nil
		}
		living, err := c.Shrink()
		if err != nil {
			return err
		}
		if living.Rank() == 0 {
			fmt.Printf("%v: revoked %v\n%v: revoked %v\n", c, c.IsRevoked(), living, living.IsRevoked())
		}
		return living.Close()
	})
	fmt.Println(err)
	// Output:
	// world (0 of 4): revoked true
	// world.shrink (0 of 4): revoked false
	// <nil>
}

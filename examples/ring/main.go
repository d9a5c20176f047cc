// Command ring passes a token around the ring of the ranks and prints the time of a hop. Every rank adds its
// number to the sum in the token. The sum shows whether the token has visited all ranks.
//
//	gorun -np 4 ./examples/ring -laps 1000
package main

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
)

// token is the element type of the message. Any type without pointers can be sent.
type token struct {
	Hops int
	Sum  int
}

func main() {
	laps := options.Int("laps", 1000, 1, "how many `times` the token goes around")
	options.Parse()
	runtime.Main(func(w *runtime.World) error { return ring(w.Comm(), *laps) })
}

func ring(c *runtime.Comm, laps int) error {
	const tag = 1
	right := (c.Rank() + 1) % c.Size()
	left := (c.Rank() + c.Size() - 1) % c.Size()
	t := make([]token, 1)
	start := time.Now()
	for range laps {
		if c.Rank() > 0 { // wait for the token, then pass it on
			if _, err := runtime.Recv(c, t, left, tag); err != nil {
				return err
			}
		}
		t[0].Hops++
		t[0].Sum += c.Rank()
		if c.Size() > 1 {
			if err := runtime.Send(c, t, right, tag); err != nil {
				return err
			}
		}
		if c.Rank() == 0 && c.Size() > 1 { // the token has passed all ranks
			if _, err := runtime.Recv(c, t, left, tag); err != nil {
				return err
			}
		}
	}
	if c.Rank() != 0 {
		return nil
	}
	perHop := time.Since(start) / time.Duration(max(t[0].Hops, 1))
	fmt.Printf("%d hops around %d ranks, sum %d, %v per hop\n", t[0].Hops, c.Size(), t[0].Sum, perHop)
	if want := laps * c.Size() * (c.Size() - 1) / 2; t[0].Sum != want {
		return fmt.Errorf("the sum should be %d", want)
	}
	return nil
}

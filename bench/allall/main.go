// Command allall does one all-to-all of all ranks, checks the result and ends. It tests the start of many
// ranks on few processors. Every rank exchanges messages with every other rank.
//
//	gorun -np 256 ./bench/allall
package main

import (
	"flag"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	block := flag.Int("n", 16, "`number` of 8-byte integers for each peer")
	flag.Parse()
	runtime.Main(func(w *runtime.World) error { return allToAll(w.Comm(), *block) })
}

// allToAll exchanges blocks of numbers that encode their source and destination.
func allToAll(c *runtime.Comm, block int) error {
	number := func(from, to, i int) int { return (from*c.Size()+to)*block + i }
	send, recv := make([]int, block*c.Size()), make([]int, block*c.Size())
	for k := range send {
		send[k] = number(c.Rank(), k/block, k%block)
	}
	if err := collectives.AllToAll(c, send, recv); err != nil {
		return err
	}
	for k, got := range recv {
		if want := number(k/block, c.Rank(), k%block); got != want {
			return fmt.Errorf("rank %d: element %d is %d, should be %d", c.Rank(), k, got, want)
		}
	}
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	if c.Rank() == 0 {
		fmt.Printf("%d ranks exchanged %d bytes with each other\n", c.Size(), 8*block)
	}
	return nil
}

// Command hello is the smallest gorun program: every rank prints its number, its process, its number
// on its host, and the host.
//
//	gorun -np 4 ./examples/hello
package main

import (
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		fmt.Printf("hello from rank %d of %d: process %d, rank %d of %d on %s\n",
			w.Rank(), w.Size(), os.Getpid(), w.LocalRank(), w.LocalSize(), host)
		return nil
	})
}

// Command startup joins a job, does one barrier and ends. The duration of the whole job is
// measured:
//
//	time gorun -np 64 startup
package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	runtime.Main(func(w *runtime.World) error { return collectives.Barrier(w.Comm()) })
}

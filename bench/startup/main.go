// Command startup joins a job, does one barrier and ends. The user measures the duration of the whole job:
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

// Command memory prints what an idle rank takes of the machine's memory after
// one barrier: its proportional set size (PSS), in which shared pages count in
// parts.
//
//	gorun -np 64 ./bench/memory
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	o := osu.Define("memory", "0", osu.Latency)
	o.Parse()
	runtime.Main(func(w *runtime.World) error { return run(w, o) })
}

// run does the part of one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	mine, err := pss()
	if err != nil {
		return err
	}
	all := make([]float64, c.Size())
	// Nobody ends before all have looked: the parts of shared pages would grow.
	if err := collectives.AllGather(c, []float64{mine}, all); err != nil {
		return err
	}
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	table, err := osu.NewTable(w, o, "PSS (KiB)", "Largest (KiB)")
	if err != nil {
		return err
	}
	if err := table.Row(0, sum/float64(len(all)), slices.Max(all)); err != nil {
		return err
	}
	return table.Close()
}

// pss returns the proportional set size of this process in KiB.
func pss() (float64, error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		var kib float64
		if n, _ := fmt.Sscanf(string(line), "Pss: %f kB", &kib); n == 1 {
			return kib, nil
		}
	}
	return 0, errors.New("no Pss in /proc/self/smaps_rollup")
}

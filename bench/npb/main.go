// Command npb runs a kernel of the NAS Parallel Benchmarks and verifies its
// answer:
//
//	gorun -np 4 ./bench/npb -kernel cg -class A
//
// It ends with an error if the results do not agree with the published ones.
//
// With -checkpoint, cg keeps copies of its state. After the loss of a rank, cg continues from these copies:
//
//	gorun -np 4 -on-failure respawn ./bench/npb -kernel cg -class A -checkpoint
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// kernels maps the names of the kernels to their functions.
var kernels = map[string]func(*runtime.Comm, npb.Class) (*npb.Report, error){
	"cg": npb.CG,
	"ep": npb.EP,
	"ft": npb.FT,
	"is": npb.IS,
	"lu": npb.LU,
	"mg": npb.MG,
}

var errVerification = errors.New("npb: verification failed")

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(kernels)), ", ")
	name := flag.String("kernel", "cg", "`kernel`, one of "+names+": ep runs on any number of ranks, the others on powers of two")
	className := flag.String("class", "S", "problem size `class`: S, W, A or B")
	saves := flag.Bool("checkpoint", false, "save the state of cg after each iteration except the last, and print a line for each save")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "Usage: gorun -np 4 ./bench/npb [-kernel name] [-class S|W|A|B] [-checkpoint]")
		flag.PrintDefaults()
	}
	flag.Parse()
	kernel, ok := kernels[strings.ToLower(*name)]
	class, err := npb.ParseClass(*className)
	switch {
	case !ok:
		err = fmt.Errorf("npb: kernel %q is not one of %s", *name, names)
	case *saves && strings.ToLower(*name) != "cg":
		err = errors.New("npb: -checkpoint is for cg")
	case flag.NArg() > 0:
		err = fmt.Errorf("npb: unexpected argument %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runtime.Main(func(w *runtime.World) error {
		if *saves {
			return resume(w, class)
		}
		return run(w, kernel, class)
	})
}

// resume runs cg on all ranks. After the loss of some ranks it continues from the last checkpoint.
func resume(w *runtime.World, class npb.Class) error {
	store, err := checkpoint.New(checkpoint.Config{})
	if err != nil {
		return err
	}
	return w.Resume(func(w *runtime.World) error {
		saved := func(iteration int) {
			if w.Rank() == 0 {
				fmt.Printf("iteration %d is saved in generation %d\n", iteration, w.Generation())
			}
		}
		return run(w, func(c *runtime.Comm, class npb.Class) (*npb.Report, error) { return npb.CGFrom(c, class, store, saved) }, class)
	})
}

// run runs the kernel on all ranks. Rank 0 prints the report and returns an error if the report is
// not verified.
func run(w *runtime.World, kernel func(*runtime.Comm, npb.Class) (*npb.Report, error), class npb.Class) error {
	report, err := kernel(w.Comm(), class)
	if err != nil || w.Rank() != 0 {
		return err
	}
	if err := report.Write(os.Stdout); err != nil {
		return err
	}
	if !report.Verified() {
		return errVerification
	}
	return nil
}

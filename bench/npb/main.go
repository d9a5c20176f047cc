// Command npb runs a kernel of the NAS Parallel Benchmarks and verifies its
// answer:
//
//	gorun -np 4 ./bench/npb -kernel cg -class A
//
// It ends with an error when the numbers do not agree with the published ones.
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
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "Usage: gorun -np 4 ./bench/npb [-kernel name] [-class S|W|A|B]")
		flag.PrintDefaults()
	}
	flag.Parse()
	kernel, ok := kernels[strings.ToLower(*name)]
	class, err := npb.ParseClass(*className)
	switch {
	case !ok:
		err = fmt.Errorf("npb: kernel %q is not one of %s", *name, names)
	case flag.NArg() > 0:
		err = fmt.Errorf("npb: unexpected argument %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	runtime.Main(func(w *runtime.World) error { return run(w, kernel, class) })
}

// run runs the kernel on all ranks. Rank 0 prints the result and fails when it
// is not verified.
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

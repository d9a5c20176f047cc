// Command wrong runs small programs under gorun -check. Each program has one mistake or is correct. The
// command prints the page docs/wrong-programs.md, which says which mistakes gorun -check has reported:
//
//	go run ./bench/wrong > docs/wrong-programs.md
//	go run ./bench/wrong -v -only 'ring of sends'
//
// The families of mistakes are the families of MPI-CorrBench and of the MPI Bugs Initiative, except for
// one-sided communication. -only selects programs whose names match a regular expression. -v prints the
// report of each program in place of the page.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"github.com/gorun-hpc/gorun/runtime"
)

var (
	gorun   = flag.String("gorun", "gorun", "`file` of gorun")
	only    = flag.String("only", "", "`pattern` of the names of the programs that are run")
	verbose = flag.Bool("v", false, "print gorun's report on each program in place of the page")
	rank    = flag.String("program", "", "for internal use: `name` of the program of which this process is a rank")
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fail(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	if *rank != "" {
		p, found := find(*rank)
		if !found {
			fail(fmt.Errorf("there is no program %q", *rank))
		}
		runtime.Main(func(w *runtime.World) error { return p.run(w.Comm()) })
		return
	}
	if err := study(); err != nil {
		fail(err)
	}
}

// fail prints an error and ends the process.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "wrong:", err)
	os.Exit(1)
}

// study judges the selected programs and prints the page.
func study() error {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if _, err := exec.LookPath(*gorun); err != nil {
		return fmt.Errorf("-gorun: %w (go install ./cmd/gorun puts gorun on the PATH if $(go env GOPATH)/bin is in it)", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var list []family
	for _, f := range families {
		chosen := f
		chosen.programs = nil
		for _, p := range f.programs {
			if pattern.MatchString(p.name) {
				chosen.programs = append(chosen.programs, p)
			}
		}
		if len(chosen.programs) > 0 {
			list = append(list, chosen)
		}
	}
	verdicts, err := judgeAll(context.Background(), *gorun, self, list)
	if err != nil {
		return err
	}
	if *verbose {
		for _, v := range verdicts {
			fmt.Printf("%s: code %d, found %v, located %v\n%s\n", v.name, v.code, v.found(), v.located(), v.report)
		}
		return nil
	}
	fmt.Print(page(list, verdicts))
	return nil
}

package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gorun-hpc/gorun/runtime"
)

// exitUsage is the exit code for a wrong command line. flag.ExitOnError has the same exit code.
const exitUsage = 2

// Parse does the same as flag.Parse, for a program that takes flags and no other arguments. All ranks have
// the same command line. If the command line is wrong, only rank 0 prints an error and exits. The other ranks
// print nothing and fail in runtime.Main.
func Parse() {
	first := os.Getenv("GORUN_RANK") == "" || os.Getenv("GORUN_RANK") == "0"
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	if !first {
		flag.CommandLine.SetOutput(io.Discard)
	}
	err := flag.CommandLine.Parse(os.Args[1:]) // Parse prints what is wrong
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument: %s", flag.Arg(0))
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), err)
		flag.Usage()
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err == nil:
	case first:
		os.Exit(exitUsage)
	default:
		runtime.Main(func(*runtime.World) error { return err })
	}
}

package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gorun-hpc/gorun/runtime"
)

// exitUsage is the code of flag.ExitOnError.
const exitUsage = 2

// Parse is flag.Parse of a program that takes flags and no other arguments. At other
// ranks than 0 a wrong command line ends the program when rank 0, which was given the
// same, has said so.
func Parse() {
	first := os.Getenv("GORUN_RANK") == "" || os.Getenv("GORUN_RANK") == "0"
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	if !first {
		flag.CommandLine.SetOutput(io.Discard)
	}
	err := flag.CommandLine.Parse(os.Args[1:]) // which says what is wrong
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

package options

import (
	"errors"
	"flag"
	"io"
	"os"

	"github.com/gorun-hpc/gorun/runtime"
)

// Parse is flag.Parse. At other ranks than 0 a wrong flag ends the program when
// rank 0, which was given the same, has said so.
func Parse() {
	if rank := os.Getenv("GORUN_RANK"); rank == "" || rank == "0" {
		flag.Parse()
		return
	}
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	switch err := flag.CommandLine.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		runtime.Main(func(*runtime.World) error { return err })
	}
}

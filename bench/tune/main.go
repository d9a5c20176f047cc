// Command tune measures the algorithms of collective operations on a machine. It writes the fastest
// algorithms as a table. Jobs on that machine read the table from the file that GORUN_COLL_TABLE names:
//
//	gorun -np 4 -host h1:2,h2:2 ./bench/tune -o table.txt
//	GORUN_COLL_TABLE=table.txt gorun -np 4 -host h1:2,h2:2 ./program
//
// The table applies to communicators that agree with the job of tune in two numbers: the number of ranks,
// and the largest number of ranks on a node. A file may contain the tables of several jobs, one after the
// other:
//
//	for n in 2 4 8; do gorun -np $n ./bench/tune; done >table.txt
//
// An algorithm replaces the built-in choice only if it took less than 9/10 of the time of the
// built-in choice.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
)

// options contains the values of the flags.
type options struct {
	operations []string
	sizes      []int
	iterations int
	output     string
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tune:", err)
		os.Exit(2)
	}
	runtime.Main(func(w *runtime.World) error {
		if w.Rank() != 0 {
			_, err := tune(w.Comm(), o)
			return err
		}
		file := os.Stdout
		if o.output != "-" {
			if file, err = os.Create(o.output); err != nil { // before measurements that take minutes
				return err
			}
		}
		lines, err := tune(w.Comm(), o)
		if err != nil {
			return err
		}
		_, err = file.WriteString(heading + strings.Join(lines, ""))
		return errors.Join(err, file.Close())
	})
}

// heading is the first line of a table.
const heading = "# operation  ranks  per node  up to bytes  algorithm\n"

// parse parses and validates the command line.
func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("tune", flag.ContinueOnError)
	flags.SetOutput(usage)
	names := flags.String("op", strings.Join(operationNames, ","), "`operations`, separated by commas")
	sizes := flags.String("m", "8,256,1024,4096,16384,65536,262144,1048576", "`lengths` in bytes of a contribution or block, in ascending order")
	flags.IntVar(&o.iterations, "i", 20, "`calls` that are timed together")
	flags.StringVar(&o.output, "o", "-", "`file` for the table, - for the standard output")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.iterations < 1 {
		return o, fmt.Errorf("-i %d: at least one call is timed", o.iterations)
	}
	o.operations = strings.Split(*names, ",")
	for _, name := range o.operations {
		if !slices.Contains(operationNames, name) {
			return o, fmt.Errorf("-op %s: the operations are %s", name, strings.Join(operationNames, ", "))
		}
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(o.sizes) > 0 && n <= o.sizes[len(o.sizes)-1] {
			return o, fmt.Errorf("-m %s: %q is not a larger length than the one before it", *sizes, text)
		}
		o.sizes = append(o.sizes, n)
	}
	return o, nil
}

// Command simulate predicts the time that the algorithms of a collective operation take for up to hundreds of
// thousands of ranks. A model describes the network. The command runs the same algorithms as real jobs, on a
// virtual clock, see docs/simulation.md.
//
//	go run ./bench/simulate -op allreduce -ranks 100000 -bytes 1M -alg all
//	go run ./bench/simulate -op allreduce -ranks 1024 -bytes 8:16M -svg allreduce.svg
//	go run ./bench/simulate -print-model >mine.json
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bench/internal/distance"
	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// options contains the values of the flags.
type options struct {
	operation          string
	algorithms         []string
	all                bool // algorithms contains all algorithms of the operation
	ranks, bytes       []int
	root, messagesMax  int
	model              simulation.Model
	svg                string
	json, printedModel bool
	calibrate          bool
	tries              int
	measurement        measurement // if it has no directory, nothing is measured
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v (-h lists the flags)\n", err)
		os.Exit(2)
	}
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(1)
	}
}

// parse parses and validates the command line.
func parse(arguments []string, usage io.Writer) (*options, error) {
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	o := &options{}
	f.StringVar(&o.operation, "op", "allreduce", "`operation`: "+strings.Join(simulation.Operations(), ", "))
	algorithms := f.String("alg", "all", "`algorithms`, a list of names, or all")
	ranks := f.String("ranks", "1024", "`numbers` of ranks: a list, or the powers of two of a range as in 2:64K")
	bytes := f.String("bytes", "8,1K,64K,1M", "`lengths` in bytes of the contribution of a rank or of a block, in the format of -ranks")
	f.IntVar(&o.root, "root", 0, "`rank` that is root")
	f.IntVar(&o.messagesMax, "messages", 50_000_000, "largest `number` of messages of a simulation, 0 for no limit; about two million messages take a second")
	f.StringVar(&o.svg, "svg", "", "`file` for a chart of the times, over the ranks if -ranks has several numbers, otherwise over the bytes")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.printedModel, "print-model", false, "simulate nothing: print the model as JSON, in the format that -model reads")
	f.StringVar(&o.measurement.directory, "measure", "", "`directory` with gorun and bench/collective: measure each row on this machine, too")
	f.IntVar(&o.measurement.rounds, "rounds", 3, "`number` of measurements of each row, of which the median counts")
	f.IntVar(&o.measurement.iterations, "i", 200, "`number` of timed calls of a measurement")
	near := f.Duration("near", 0, "with -measure: wait before a run, and repeat it, while a cache line takes more than this `time` from one processor to another and back (on a virtual machine this time varies)")
	f.BoolVar(&o.calibrate, "calibrate", false, "measure this machine with the programs in the directory of -measure, and print the model that fits the measurements best, as JSON")
	f.IntVar(&o.tries, "tries", 5000, "with -calibrate: largest `number` of models that each of its two searches tries; 5000 take two minutes")
	change := modelFlags(f)
	if err := f.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(usage)
			f.Usage()
		}
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o.measurement.during, o.measurement.log = distance.New(*near).During, usage
	var err error
	if o.model, err = change(); err != nil {
		return nil, err
	}
	if o.ranks, err = osu.ParseSizes(*ranks); err != nil {
		return nil, fmt.Errorf("-ranks: %w", err)
	}
	if o.bytes, err = osu.ParseSizes(*bytes); err != nil {
		return nil, fmt.Errorf("-bytes: %w", err)
	}
	if o.algorithms, o.all, err = chosen(o.operation, *algorithms); err != nil {
		return nil, err
	}
	switch lowest := slices.Min(o.ranks); {
	case lowest < 1:
		return nil, fmt.Errorf("-ranks %d: at least one rank", lowest)
	case o.root < 0 || o.root >= lowest:
		return nil, fmt.Errorf("-root %d: with the least number of -ranks, the ranks are 0 to %d", o.root, lowest-1)
	case o.measurement.rounds < 1 || o.measurement.iterations < 1:
		return nil, fmt.Errorf("-rounds %d -i %d: both must be at least 1", o.measurement.rounds, o.measurement.iterations)
	case o.tries < 0:
		return nil, fmt.Errorf("-tries %d: must not be negative", o.tries)
	case o.calibrate && o.measurement.directory == "":
		return nil, errors.New("-calibrate needs -measure, the directory of the programs that it runs")
	case o.measurement.directory != "" && o.operation != "barrier" && !o.calibrate && slices.ContainsFunc(o.bytes, func(n int) bool { return n%measuredElem != 0 }):
		return nil, fmt.Errorf("-bytes: -measure measures vectors of float32, so that all lengths must be multiples of %d bytes", measuredElem)
	case *near < 0:
		return nil, fmt.Errorf("-near %v: must not be negative", *near)
	case *near > 0 && o.measurement.directory == "":
		return nil, errors.New("-near needs -measure: a simulation alone runs no programs")
	case o.messagesMax < 0:
		return nil, fmt.Errorf("-messages %d: must not be negative", o.messagesMax)
	case o.svg != "" && len(o.ranks) == 1 && (len(o.bytes) == 1 || o.operation == "barrier"):
		return nil, errors.New("-svg: curves need several -ranks or several -bytes")
	case o.operation == "barrier":
		o.bytes = []int{0}
	}
	return o, nil
}

// chosen returns the algorithms of a comma-separated list, and whether the list is "all".
func chosen(operation, list string) (names []string, all bool, err error) {
	known, err := simulation.Algorithms(operation)
	if err != nil || list == "all" {
		return known, true, err
	}
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(known, name) {
			return nil, false, fmt.Errorf("-alg: no algorithm %q for %s; there are %s", name, operation, strings.Join(known, ", "))
		}
		names = append(names, name)
	}
	return names, false, nil
}

// run runs the simulations and prints the results, or prints the model.
func run(o *options, out io.Writer) error {
	if o.calibrate {
		c, err := calibrate(&o.measurement, o.tries)
		if err != nil {
			return err
		}
		o.model = c.model
		deviations, err := c.text()
		if err != nil {
			return err
		}
		fmt.Fprint(os.Stderr, deviations)
	}
	if o.printedModel || o.calibrate {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(o.model)
	}
	t := newTable(o, out)
	for _, ranks := range o.ranks {
		for _, name := range o.algorithms {
			if err := t.rowsOf(ranks, name); err != nil {
				return err
			}
		}
	}
	if err := t.close(); err != nil || o.svg == "" {
		return err
	}
	return t.draw(o.svg)
}

package osu

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/runtime"
)

// largeSize is the size in bytes above which a benchmark does fewer iterations.
const largeSize = 8192

// Counts contains numbers of iterations: of the timed iterations, and of the untimed warm-up iterations
// before them. There are separate numbers for sizes up to 8 KiB and for larger sizes.
type Counts struct {
	Small, SmallWarmup, Large, LargeWarmup int
}

// The counts are those of OSU, except MessageRate. OSU's 100 windows of 64 small messages take half a
// millisecond, which is too short to be measured.
var (
	Latency     = Counts{10000, 100, 1000, 10}
	Bandwidth   = Counts{100, 10, 20, 2}
	Collective  = Counts{1000, 100, 100, 10}
	MessageRate = Counts{1000, 100, 100, 10}
)

// Options contains the values of the flags that benchmarks share. Define defines -json. The methods whose
// names begin with With define the other flags, for the benchmarks that use them.
type Options struct {
	Title      string // names the benchmark in the table
	Sizes      []int  // in bytes
	Iterations int    // 0: chosen by size, from Counts
	Warmup     int    // -1: chosen by size, from Counts
	Type       string // element type: byte, int64, float32, float64
	Arena      bool   // allocate buffers from the arena
	JSON       bool   // print JSON in place of the table

	counts Counts
}

// Define returns the options of a benchmark that sends bytes, with one row for the size 0.
func Define(title string) *Options {
	o := &Options{Title: title, Sizes: []int{0}, Type: "byte", Warmup: -1}
	flag.BoolVar(&o.JSON, "json", false, "print JSON in place of the table")
	return o
}

// WithSizes defines -m. The argument sizes is the value of -m if the user does not give this flag.
func (o *Options) WithSizes(sizes string) *Options {
	usage := fmt.Sprintf("message `sizes` in bytes: min:max in powers of two, or a list 8,1024 (default %s)", sizes)
	flag.Func("m", usage, func(s string) error {
		var err error
		o.Sizes, err = ParseSizes(s)
		return err
	})
	o.Sizes, _ = ParseSizes(sizes)
	return o
}

// WithCounts defines -i and -x. If the user gives neither flag, Loops returns numbers from the argument counts.
func (o *Options) WithCounts(counts Counts) *Options {
	o.counts = counts
	flag.IntVar(&o.Iterations, "i", 0, "timed `iterations` per size (default: as OSU, by size)")
	flag.IntVar(&o.Warmup, "x", -1, "`iterations` before the time starts (default: as OSU, by size)")
	return o
}

// WithArena defines -arena, which Slice obeys.
func (o *Options) WithArena() *Options {
	flag.BoolVar(&o.Arena, "arena", false, "take buffers from the arena")
	return o
}

// WithType defines -type, which Bodies obeys. Parse rounds the sizes up to whole elements.
func (o *Options) WithType() *Options {
	flag.StringVar(&o.Type, "type", o.Type, "element `type`: byte, int64, float32 or float64")
	return o
}

// widths contains the sizes in bytes of the element types.
var widths = map[string]int{"byte": 1, "int64": 8, "float32": 4, "float64": 8}

// Main parses the command line, runs a benchmark that needs at least the given number of ranks, and does not
// return. The benchmark must define its own flags before the call.
func (o *Options) Main(ranks int, run func(w *runtime.World, o *Options) error) {
	o.Parse()
	runtime.Main(func(w *runtime.World) error {
		if w.Size() < ranks {
			return fmt.Errorf("%s needs %d ranks or more, not %d: gorun -np %d", o.Title, ranks, w.Size(), ranks)
		}
		return run(w, o)
	})
}

// Parse parses the command line. If the command line is invalid, Parse prints one line in each rank and ends
// the program. If the user asks for help, only rank 0 prints the help.
func (o *Options) Parse() {
	flag.CommandLine.Init(o.Title, flag.ContinueOnError)
	flag.CommandLine.SetOutput(io.Discard)
	err := flag.CommandLine.Parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		if rank := os.Getenv("GORUN_RANK"); rank == "" || rank == "0" {
			flag.CommandLine.SetOutput(os.Stderr)
			flag.Usage()
		}
		os.Exit(0)
	case err != nil:
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case widths[o.Type] == 0:
		err = fmt.Errorf("unknown element type %q", o.Type)
	case o.Iterations < 0:
		err = errors.New("-i is negative")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v (-h lists the flags)\n", o.Title, err)
		os.Exit(2)
	}
	o.Sizes = roundUp(o.Sizes, widths[o.Type])
}

// roundUp returns the sizes rounded up to multiples of width. If two successive sizes differ, but become equal by the
// rounding, it omits the second one.
func roundUp(sizes []int, width int) []int {
	rounded := make([]int, 0, len(sizes))
	for i, size := range sizes {
		up := (size + width - 1) / width * width
		if i == 0 || up != rounded[len(rounded)-1] || size == sizes[i-1] {
			rounded = append(rounded, up)
		}
	}
	return rounded
}

// Loops returns the numbers of timed and of warm-up iterations for a size.
func (o *Options) Loops(size int) (timed, warmup int) {
	timed, warmup = o.counts.Small, o.counts.SmallWarmup
	if size > largeSize {
		timed, warmup = o.counts.Large, o.counts.LargeWarmup
	}
	if o.Iterations > 0 {
		timed = o.Iterations
	}
	if o.Warmup >= 0 {
		warmup = o.Warmup
	}
	return timed, warmup
}

// ParseSizes parses "min:max" or a comma-separated list. "min:max" means min, 2*min, 4*min and so on up to
// max. A number may end in K or M.
func ParseSizes(s string) ([]int, error) {
	if low, high, ok := strings.Cut(s, ":"); ok {
		first, err := parseSize(low)
		if err != nil {
			return nil, err
		}
		last, err := parseSize(high)
		if err != nil {
			return nil, err
		}
		if first > last || first == 0 {
			return nil, fmt.Errorf("range %q is empty or begins with 0", s)
		}
		var sizes []int
		for size := first; size <= last; size *= 2 {
			sizes = append(sizes, size)
		}
		return sizes, nil
	}
	var sizes []int
	for part := range strings.SplitSeq(s, ",") {
		size, err := parseSize(part)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

func parseSize(s string) (int, error) {
	digits, factor := s, 1
	if kibi, ok := strings.CutSuffix(s, "K"); ok {
		digits, factor = kibi, 1<<10
	} else if mebi, ok := strings.CutSuffix(s, "M"); ok {
		digits, factor = mebi, 1<<20
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > 1<<40 {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return n * factor, nil
}

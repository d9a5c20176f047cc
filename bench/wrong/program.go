package main

import (
	"os"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"

	"github.com/gorun-hpc/gorun/runtime"
)

// program is a small program of a few ranks, with at most one mistake.
type program struct {
	name string
	// ranks is the number of ranks, 0 for 2.
	ranks int
	run   func(c *runtime.Comm) error
	// flags contains further flags of gorun.
	flags []string
	// finds is the text that the report of the mistake must contain. The constant gap separates the parts of
	// the text. missed is the reason why there is no report. Both are "" for a correct program.
	finds, missed string
}

// patient contains flags for programs with mistakes that gorun finds by comparing calls. gorun compares calls
// only after they have waited for half a second to a second. Without these flags, gorun might report a
// deadlock before it compares the calls, if the machine is busy.
var patient = []string{"-on-deadlock", "ignore"}

// gap stands for any text between two parts of program.finds.
const gap = " ... "

// family is a class of mistakes.
type family struct {
	name string
	// origin is the name of the class in MPI-CorrBench and the MPI Bugs Initiative, "" for correct
	// programs.
	origin   string
	programs []program
}

// families contains all programs. Their names are unique.
var families = []family{
	{"Point to point: arguments", "CorrBench: ArgError; MBI: invalid parameter", arguments},
	{"Point to point: matching", "CorrBench: ArgMismatch, MissingCall; MBI: call matching", matching},
	{"Point to point: order", "CorrBench: MisplacedCall; MBI: call ordering, resource", ordering},
	{"Collective operations: arguments", "CorrBench: ArgError; MBI: invalid parameter", collectiveArguments},
	{"Collective operations: matching", "CorrBench: ArgMismatch; MBI: call matching", collectiveMatching},
	{"Collective operations: order", "CorrBench: MissingCall, MisplacedCall; MBI: call ordering", collectiveOrdering},
	{"Requests", "CorrBench: MissingCall, MisplacedCall; MBI: request lifecycle, missing wait and start, unmatched wait, local concurrency", requests},
	{"Resources", "CorrBench: MissingCall; MBI: resource leak, double free", resources},
	{"Races", "MBI: message race, global concurrency", races},
	{"Correct programs", "", rights},
}

// find returns the program with a name.
func find(name string) (p program, found bool) {
	for _, f := range families {
		if i := slices.IndexFunc(f.programs, func(p program) bool { return p.name == name }); i >= 0 {
			return f.programs[i], true
		}
	}
	return program{}, false
}

// size returns the number of ranks.
func (p program) size() int { return max(p.ranks, 2) }

// begins returns the file and the line at which the function of the program begins.
func (p program) begins() (file string, line int) {
	f := goruntime.FuncForPC(reflect.ValueOf(p.run).Pointer())
	path, line := f.FileLine(f.Entry())
	return filepath.Base(path), line
}

// padded is a structure with padding between its fields. gorun packs such a structure before it sends it.
type padded struct {
	A int8
	B int64
}

func one() []int { return []int{1} }

func room(n int) []int { return make([]int, n) }

// exit ends the process without leaving the job, as a wrong program does.
func exit() { os.Exit(0) }

// failure returns its second argument, the error of a call with two results.
func failure[T any](_ T, err error) error { return err }

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// quickRanks bounds the ranks of -quick.
const quickRanks = 8

// measurement is one run of one program by every system. It yields a value for
// each message size.
type measurement struct {
	key       string
	program   string // ours is bench/program, the twin twins/program.c
	ranks     int
	args      []string
	ours      []string // more arguments for ours alone
	env       []string // environment of ours alone
	network   bool     // through the network, on one machine too
	launch    []string // more arguments for our launcher
	spinning  []string // more arguments for a system whose ranks spin: fewer iterations
	quick     []string // more arguments for all with -quick
	bound     bool     // each rank has a core of its own
	reference string   // the reference code that peers run in place of a twin
	wall      bool     // the value is the time of the whole run in seconds
	alone     bool     // ours alone
	named     bool     // what is printed are lines "name value unit": each is a key of its own, see keyOf
	partners  []string // the other systems that take part, when not all do
	fails     bool     // a rank is meant to die: what was printed counts
	times     int      // rounds at most, 0: all
	peers     int      // rounds of the peers at most, 0: all
	timeout   time.Duration
}

// row is a line of the table: a value of a measurement against that of others.
type row struct {
	name        string
	unit        string
	measurement string
	size        int
	against     string // better, a system that is a peer, absolute, or another measurement of ours
	theirs      string // measurement of the peers' values, "": the same
	higher      bool   // larger is better
	bar, aim    float64
	free        bool // no bar: shown for information
}

// What rows are compared with, besides the names of systems and measurements.
const (
	better   = "better"   // the better of the default peers
	absolute = "absolute" // the bar is a value, not a ratio
)

// keyOf is the key of the values of a line that a named measurement prints. They
// are of size 0.
func keyOf(measurement, line string) string { return measurement + ": " + line }

// measurementOf returns the key of the measurement that a key of values is of.
func measurementOf(key string) string {
	measurement, _, _ := strings.Cut(key, ": ")
	return measurement
}

// namedLine is a line of a named measurement.
var namedLine = regexp.MustCompile(`^(\S.*\S) +(-?\d+\.\d+)( \S+| )?$`)

// parseNamed reads the lines "name value unit". Others are skipped.
func parseNamed(text string) (map[string]float64, error) {
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		fields := namedLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if fields == nil {
			continue
		}
		value, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, err
		}
		if _, ok := values[fields[1]]; ok {
			return nil, fmt.Errorf("%q appears twice", fields[1])
		}
		values[fields[1]] = value
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no lines of values in %q", text)
	}
	return values, nil
}

// wallSize is the size under which the time of a whole run is kept.
const wallSize = 0

// parseTable reads the rows of an OSU table: a size and its first value. Lines
// that begin with # and lines without two numbers are skipped.
func parseTable(text string) (map[int]float64, error) {
	values := map[int]float64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		size, err := strconv.Atoi(fields[0])
		if err != nil {
			continue
		}
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			continue
		}
		if _, ok := values[size]; ok {
			return nil, fmt.Errorf("size %d appears twice", size)
		}
		values[size] = value
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no table in %q", text)
	}
	return values, nil
}

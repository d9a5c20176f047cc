package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// quickRanks bounds the number of ranks with -quick.
const quickRanks = 8

// measurement is a program that the systems run with the same arguments, except where a field says otherwise.
// A run yields a value for each message size.
type measurement struct {
	key       string
	program   string // name of gorun's program below bench, and of its twin below twins
	ranks     int
	args      []string
	ours      []string // more arguments for gorun's program alone
	env       []string // environment of gorun's program alone
	network   bool     // the ranks communicate through the network, even on one machine
	launch    []string // more arguments for gorun's launcher
	spinning  []string // more arguments (fewer iterations) for a system whose ranks poll without sleeping
	quick     []string // more arguments for all systems with -quick
	bound     bool     // each rank has a core of its own
	reference string   // the reference code that peers run in place of a twin
	wall      bool     // the value is the time of the whole run in seconds
	alone     bool     // only gorun runs the measurement
	named     bool     // the output has lines "name value unit"; each line has its own key, see keyOf
	partners  []string // the other systems that take part, nil: all
	peers     int      // maximum number of rounds of the peers, 0: all
	timeout   time.Duration
}

// row is a line of the table: it compares a value of a measurement with another value.
type row struct {
	name        string
	unit        string
	measurement string
	size        int
	against     string // better, absolute, the name of a peer, or the key of a measurement of gorun
	theirs      string // key of the peers' values; "" means the key in the field measurement
	higher      bool   // larger is better
	bar, aim    float64
	free        bool // the row has no bar, and is shown only for information
}

// The values of row.against that are not names of systems or measurements.
const (
	better   = "better"   // compare with the better of Open MPI and MPICH
	absolute = "absolute" // the bar that gorun must reach is a value, not a ratio
)

// keyOf returns the key for the values of one output line of a measurement with the field named. The size of
// these values is 0.
func keyOf(measurement, line string) string { return measurement + ": " + line }

// measurementOf returns the key of the measurement to which a key of values belongs.
func measurementOf(key string) string {
	measurement, _, _ := strings.Cut(key, ": ")
	return measurement
}

// namedLine matches a line of the form "name value unit".
var namedLine = regexp.MustCompile(`^(\S.*\S) +(-?\d+\.\d+)( \S+| )?$`)

// parseNamed parses the lines "name value unit" and skips all other lines.
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

// wallSize is the message size under which the duration of a whole run is stored.
const wallSize = 0

// parseTable parses the rows of an OSU table: the size and the first value after it. It skips lines that
// begin with #, and lines that do not begin with two numbers.
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

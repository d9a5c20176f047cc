package link

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
)

// Look asks an agent for the contents of the flight recorders of its ranks.
type Look struct {
	// Number identifies the request. The answer repeats it.
	Number int
	// Silent lists the ranks whose last operations are requested as lines. Whole lists the ranks whose
	// complete logs are requested.
	Silent, Whole []int
}

// Seen is the answer to a Look.
type Seen struct {
	Number  int
	Records []Record
}

// Record contains the requested contents of the flight recorder of a rank.
type Record struct {
	Rank   int
	Time   time.Time // the time up to which Counts count, by the clock of the rank's host
	Counts flight.Counts
	Last   []string    // the last operations, of a rank of Look.Silent
	Halt   string      // state of a rank of Look.Silent: T, t or D as in proc(5), "" in any other state
	Log    *flight.Log // of a rank of Look.Whole
}

// check returns an error if a record has more entries than a flight recorder can have.
func (s Seen) check() error {
	for _, r := range s.Records {
		if r.Rank < 0 {
			return fmt.Errorf("record of rank %d", r.Rank)
		}
		if err := checkLast(r.Rank, r.Last); err != nil {
			return err
		}
		if r.Log != nil && max(len(r.Log.Messages), len(r.Log.Operations)) > flight.Slots {
			return fmt.Errorf("more than %d operations of rank %d", flight.Slots, r.Rank)
		}
	}
	return nil
}

// lastMost bounds the number of lines of a rank's last operations. lastBytesMost bounds the length of each
// line.
const (
	lastMost      = 16
	lastBytesMost = 512
)

// Cut returns the longest beginning of a line that a frame may contain as a line of a rank's last operations.
// The line must be UTF-8.
func Cut(line string) string {
	if len(line) <= lastBytesMost {
		return line
	}
	return strings.ToValidUTF8(line[:lastBytesMost], "") // without a part of a character
}

// checkLast returns an error if lines exceed the bounds for the last operations of a rank.
func checkLast(rank int, lines []string) error {
	if len(lines) > lastMost || slices.ContainsFunc(lines, func(line string) bool { return len(line) > lastBytesMost }) {
		return fmt.Errorf("%d last operations of rank %d", len(lines), rank)
	}
	return nil
}

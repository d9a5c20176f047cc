package link

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/flight"
)

// Look asks an agent what the flight recorders of its ranks have.
type Look struct {
	// Number is that of the question, which the answer repeats.
	Number int
	// Silent are the ranks whose last operations are asked for, in lines; Whole those of which all is.
	Silent, Whole []int
}

// Seen is the answer to a Look.
type Seen struct {
	Number  int
	Records []Record
}

// Record is what the flight recorder of a rank has.
type Record struct {
	Rank   int
	Time   time.Time // until which Counts count, by the clock of its host
	Counts flight.Counts
	Last   []string    // of one of Look.Silent
	Halt   string      // of one of Look.Silent: T, t or D if its process is in that state (proc(5)), else ""
	Log    *flight.Log // of one of Look.Whole
}

// check refuses more than a recorder has.
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

// lastMost bounds the lines of a rank's last operations, lastBytesMost their lengths.
const (
	lastMost      = 16
	lastBytesMost = 512
)

// checkLast refuses lines that are none of last operations.
func checkLast(rank int, lines []string) error {
	if len(lines) > lastMost || slices.ContainsFunc(lines, func(line string) bool { return len(line) > lastBytesMost }) {
		return fmt.Errorf("%d last operations of rank %d", len(lines), rank)
	}
	return nil
}

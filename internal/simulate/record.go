package simulate

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"
)

// recordTail is the number of events, counted from the end, that a report shows.
const recordTail = 40

// record is the log of a run: a hash of all events and the text of the last events.
type record struct {
	sum    hash.Hash64
	events int                // number of events so far
	tail   [recordTail]string // a ring of the last lines; event i is at i%recordTail
	trace  io.Writer          // receives all lines; may be nil

	// The time of the newest event, and the lines of all events of that time. Go's scheduler determines the
	// order of events of the same time. For this reason, settle sorts the lines.
	newest time.Duration
	lines  []string
}

func newRecord(trace io.Writer) record { return record{sum: fnv.New64a(), trace: trace} }

// add records an event and its time.
func (r *record) add(at time.Duration, format string, args ...any) {
	if at != r.newest {
		r.settle()
		r.newest = at
	}
	r.lines = append(r.lines, fmt.Sprintf("%12v  ", at)+fmt.Sprintf(format, args...))
	r.events++
}

// settle sorts the lines of the newest time, and adds them to the hash, the trace and the tail.
func (r *record) settle() {
	slices.Sort(r.lines)
	for i, line := range r.lines {
		_, _ = r.sum.Write([]byte(line)) // never fails
		if r.trace != nil {
			_, _ = fmt.Fprintln(r.trace, line) // an error is ignored, because the trace is for debugging
		}
		r.tail[(r.events-len(r.lines)+i)%recordTail] = line
	}
	r.lines = r.lines[:0]
}

// last returns the text of the last events, in order.
func (r *record) last() string {
	var b strings.Builder
	for i := max(0, r.events-recordTail); i < r.events; i++ {
		fmt.Fprintf(&b, "  %6d  %s\n", i, r.tail[i%recordTail])
	}
	return b.String()
}

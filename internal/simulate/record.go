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

// recordTail is how many of the last events a report shows.
const recordTail = 40

// record is the log of a run: a sum over all events and the text of the last ones.
type record struct {
	sum    hash.Hash64
	events int
	tail   [recordTail]string
	trace  io.Writer // of all lines, unless nil

	// now are the lines of the present moment, at which Go decides who goes first.
	at  time.Duration
	now []string
}

func newRecord(trace io.Writer) record { return record{sum: fnv.New64a(), trace: trace} }

// add notes an event.
func (r *record) add(at time.Duration, format string, args ...any) {
	if at != r.at {
		r.settle()
		r.at = at
	}
	r.now = append(r.now, fmt.Sprintf("%12v  ", at)+fmt.Sprintf(format, args...))
	r.events++
}

// settle sorts the events of the present moment and counts them into the sum.
func (r *record) settle() {
	slices.Sort(r.now)
	for i, line := range r.now {
		_, _ = r.sum.Write([]byte(line)) // never fails
		if r.trace != nil {
			_, _ = fmt.Fprintln(r.trace, line) // it is for debugging
		}
		r.tail[(r.events-len(r.now)+i)%recordTail] = line
	}
	r.now = r.now[:0]
}

// last returns the last events in order.
func (r *record) last() string {
	var b strings.Builder
	for i := max(0, r.events-recordTail); i < r.events; i++ {
		fmt.Fprintf(&b, "  %6d  %s\n", i, r.tail[i%recordTail])
	}
	return b.String()
}

package simulate

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
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
}

func newRecord(trace io.Writer) record { return record{sum: fnv.New64a(), trace: trace} }

// add notes an event.
func (r *record) add(at time.Duration, format string, args ...any) {
	line := fmt.Sprintf("%12v  ", at) + fmt.Sprintf(format, args...)
	_, _ = r.sum.Write([]byte(line)) // never fails
	if r.trace != nil {
		_, _ = fmt.Fprintln(r.trace, line) // it is for debugging
	}
	r.tail[r.events%recordTail] = line
	r.events++
}

// last returns the last events in order.
func (r *record) last() string {
	var b strings.Builder
	for i := max(0, r.events-recordTail); i < r.events; i++ {
		fmt.Fprintf(&b, "  %6d  %s\n", i, r.tail[i%recordTail])
	}
	return b.String()
}

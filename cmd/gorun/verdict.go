package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// failure is what went wrong first.
type failure struct {
	rank int          // -1 if no rank is to blame
	of   *incarnation // the process of the rank, nil for the present one
	code int          // exit code of the job
	how  string
	// told refers to what was printed when it went wrong, and is not printed again; "" if nothing was.
	told string
	then string // why it was not started again, to follow how
	// lost is the rank that ended, if the other ranks continued.
	lost *rank
}

// verdict collects what decides the exit code and the last block of a job. Only the first
// failure that the program has not handled counts: later ones may be its consequences.
type verdict struct {
	first     *failure
	later     []failure      // after the first, in order
	interrupt syscall.Signal // that ended the job, 0 for none
	timeout   time.Duration  // that ended the job, 0 for none
	silent    bool           // gorun's output has no reader any more
}

// blame records a failure.
func (v *verdict) blame(f failure) {
	if v.first == nil {
		v.first = &f
		return
	}
	v.later = append(v.later, f)
}

// forgive removes the losses of ranks that the program has recovered from. It does nothing
// in a job that was ended by its user.
func (v *verdict) forgive() {
	for v.interrupt == 0 && v.first != nil && v.first.lost != nil && v.first.lost.handled {
		v.first = nil
		if len(v.later) > 0 {
			v.first, v.later = &v.later[0], v.later[1:]
		}
	}
}

// code returns the exit code of the job.
func (v *verdict) code() int {
	switch {
	case v.timeout > 0:
		return exitTimeout
	case v.first != nil:
		return v.first.code
	default:
		return 0
	}
}

// tailLinesMax bounds the lines of standard error that are repeated.
const tailLinesMax = 10

// text returns the last block of a job, "" after success.
func (v *verdict) text(j *job) string {
	if v.silent || (v.first == nil && v.timeout == 0) {
		return ""
	}
	if v.interrupt != 0 && v.first.code == exitSignalOffset+int(v.interrupt) {
		return fmt.Sprintf("interrupted by %s: exit code %d", unix.SignalName(v.interrupt), v.first.code)
	}
	var b strings.Builder
	if v.timeout > 0 {
		fmt.Fprintf(&b, "timeout: the job was ended after %v: exit code %d", v.timeout, exitTimeout)
	}
	if v.first == nil {
		return b.String()
	}
	switch {
	case b.Len() > 0:
		b.WriteString("\nand before: ")
	case v.first.told != "":
		fmt.Fprintf(&b, "the job failed with exit code %d: ", v.first.code)
	default:
		fmt.Fprintf(&b, "the job failed with exit code %d\nfirst failure: ", v.first.code)
	}
	if v.first.told != "" {
		b.WriteString(v.first.told)
		return b.String()
	}
	if v.first.rank < 0 {
		b.WriteString(v.first.how + v.first.then)
		return b.String()
	}
	v.writeRank(&b, j)
	return b.String()
}

// writeRank writes how the rank to blame has failed, and the last that is known of it.
func (v *verdict) writeRank(b *strings.Builder, j *job) {
	r, of := j.ranks[v.first.rank], v.first.of
	if of == nil {
		present := r.incarnation()
		of = &present
	}
	fmt.Fprintf(b, "rank %d (%s, host %s, pid %d) %s", r.number, r.app.program, of.host, of.pid, v.first.how)
	if !of.ended.IsZero() {
		fmt.Fprintf(b, " after %v", of.ended.Sub(of.started).Round(time.Millisecond))
	}
	b.WriteString(v.first.then)
	for i, line := range lastLines(j.out.tail(r.number), tailLinesMax) {
		if i == 0 {
			b.WriteString("\nits last lines on standard error:")
		}
		b.WriteString("\n  | " + line)
	}
	b.WriteString(block("its last operations", of.last))
}

// lastLines returns up to n last lines of text that are not empty at the end.
func lastLines(text []byte, n int) []string {
	s := strings.TrimRight(string(text), "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	if len(text) == tailBytesMax && len(lines) > 1 {
		lines = lines[1:] // its start is cut off
	}
	return lines[max(0, len(lines)-n):]
}

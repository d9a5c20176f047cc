package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// failure describes a failure of the job.
type failure struct {
	rank int          // the rank that has failed, -1 if none has
	of   *incarnation // the process of the rank, nil for the present process
	code int          // exit code of the job
	how  string
	// told is a short reference to a message that was printed when the failure occurred, or "". If it is not
	// "", the final text contains told in place of the details.
	told string
	then string // why the rank was not started again; printed after how
	// ended are the ranks that have ended with this failure. cause is the rank that they report as lost, or
	// nil.
	ended     []*rank
	cause     *rank
	continued bool // the other ranks have continued after the failure
}

// verdict collects the facts that determine the exit code, and the text that gorun prints at the end of a
// job. The failure that counts is the first one from which the program has not recovered, or the cause of that one
// (see decide). Later failures may be its consequences.
type verdict struct {
	first     *failure
	later     []failure      // after the first, in order
	interrupt syscall.Signal // the signal that ended the job, 0 for none
	timeout   time.Duration  // the -timeout that ended the job, 0 for none
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

// root finds the failure that has caused the first failure, and returns its index in the slice later. It
// returns -1 if the first failure has no known cause. It also returns -1 if the chain of causes leads back to the
// first failure, so that the first failure counts. An example is two ranks that have lost their connection, each
// of which names the other.
func (v *verdict) root() int {
	at, f := -1, v.first
	for range v.later {
		next := slices.IndexFunc(v.later, func(l failure) bool { return f.cause != nil && slices.Contains(l.ended, f.cause) })
		if next < 0 {
			return at
		}
		if slices.Contains(v.first.ended, v.later[next].cause) {
			return -1
		}
		at, f = next, &v.later[next]
	}
	return at
}

// cause returns the rank that the earliest failure in the chain of causes names, or nil if it names none.
func (v *verdict) cause() *rank {
	if at := v.root(); at >= 0 {
		return v.later[at].cause
	}
	return v.first.cause
}

// trace moves the failure that has caused the first failure to the front. The report of the causing failure
// may have arrived later, through another agent.
func (v *verdict) trace() {
	if at := v.root(); at >= 0 {
		cause := v.later[at]
		v.later = slices.Insert(slices.Delete(v.later, at, at+1), 0, *v.first)
		v.first = &cause
	}
}

// recovered reports whether the program has recovered from the losses of all ranks that have ended with the failure.
func (f *failure) recovered() bool {
	return f.continued && !slices.ContainsFunc(f.ended, func(r *rank) bool { return !r.handled })
}

// decide determines the failure that counts. If no signal of the user ended the job, decide skips the failures from
// which the program has recovered.
func (v *verdict) decide() {
	for v.first != nil {
		v.trace()
		if v.interrupt != 0 || !v.first.recovered() {
			return
		}
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

// tailLinesMax is the largest number of lines that an error text quotes from the standard error of a rank, or of the
// command that reaches a host.
const tailLinesMax = 10

// text returns the text that gorun prints at the end of a job, or "" after success or if silent is true.
func (v *verdict) text(j *job) string {
	if v.silent || (v.first == nil && v.timeout == 0) {
		return ""
	}
	if v.interrupt != 0 && v.first.rank >= 0 && v.first.code == exitSignalOffset+int(v.interrupt) {
		return fmt.Sprintf("interrupted by %s (exit code %d)", unix.SignalName(v.interrupt), v.first.code)
	}
	var b strings.Builder
	if v.timeout > 0 {
		fmt.Fprintf(&b, "timeout: the job was ended after %v (exit code %d)", v.timeout, exitTimeout)
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

// writeRank writes how the rank has failed, the last lines of the rank's standard error, and its last
// operations.
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

// absentees returns a line that names the ranks that have exited with code 0 without joining the job. Such an end
// is no failure, but it may be the cause of failures of the other ranks. If no rank has joined, the programs do
// not use gorun, and absentees returns "".
func (j *job) absentees() string {
	var absent []int
	joined := false
	for _, r := range j.ranks {
		joined = joined || r.joined
		if r.absent {
			absent = append(absent, r.number)
		}
	}
	if !joined || absent == nil {
		return ""
	}
	return fmt.Sprintf("\n%s exited with code 0 without joining the job, which may be the cause: call runtime.Main in every rank",
		bootstrap.NameRanks(absent))
}

// lastLines returns the last lines of text, at most n. It ignores empty lines at the end.
func lastLines(text []byte, n int) []string {
	s := strings.TrimRight(string(text), "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	if len(text) == tailBytesMax && len(lines) > 1 {
		lines = lines[1:] // the start of the first line may be missing
	}
	return lines[max(0, len(lines)-n):]
}

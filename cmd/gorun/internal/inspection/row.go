package inspection

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// Unknown is the value of a rate that is not known. It is less than every known rate.
const Unknown = -1

// The states of a rank. A rank in one of the last four states does not answer. Stopped: a signal has stopped
// the rank. Debugged: a debugger has stopped the rank. InKernel: the rank waits in the kernel, and no signal
// ends the wait. Silent: the reason is not known.
const (
	Computing = "computing"
	Waiting   = "waiting"
	Finished  = "finished"
	Silent    = "silent"
	Stopped   = "stopped"
	Debugged  = "debugged"
	InKernel  = "kernel"
)

// Row is a rank in the table of a report.
type Row struct {
	Rank int
	// State is one of the constants above.
	State string
	// Where describes the operation for which the rank waits, or the program line that it executes. Where is ""
	// if neither is known.
	Where string
	// Messages and Bytes are rates per second. Waiting is the percentage of time that the rank has waited.
	// Unexpected is the number of bytes of its unexpected messages. Each value may be Unknown.
	Messages, Bytes, Waiting, Unexpected float64
}

// RankColumns is the width of the first column of the table, with the blanks after it.
const RankColumns = 8

// rowFormat is the format of a line of the table.
const rowFormat = "%6s  %-9s %10s %8s %9s %10s  %s"

// Heading returns the line above the rows.
func Heading() string {
	return fmt.Sprintf(rowFormat, "rank", "state", "messages/s", "bytes/s", "waiting %", "unexpected", "where")
}

// String returns the line of the row in the columns of Heading, without trailing blanks.
func (w Row) String() string {
	return strings.TrimRight(fmt.Sprintf(rowFormat, fmt.Sprint(w.Rank), w.State,
		short(w.Messages), short(w.Bytes), percent(w.Waiting), short(w.Unexpected), w.Where), " ")
}

// Rows returns a row for each rank that has joined, in rank order. Rates are averages over the time since
// an earlier report, which is the argument before. They are Unknown if before is nil or of another generation of the
// job, because the counters of all ranks begin at 0 in each generation.
func (r *Report) Rows(before *Report) []Row {
	rows := make([]Row, 0, len(r.Doing)+len(r.Silent))
	for _, d := range r.Doing {
		rows = append(rows, Row{Rank: d.Rank, State: state(d), Where: d.Where()})
	}
	halted := make(map[int]Halted, len(r.Halted))
	for _, h := range r.Halted {
		halted[h.Rank] = h
	}
	for _, rank := range r.Silent {
		rows = append(rows, Row{Rank: rank, State: halted[rank].word()})
	}
	slices.SortFunc(rows, func(a, b Row) int { return a.Rank - b.Rank })
	now, then, seconds := r.counts(), map[int]Counts{}, 0.0
	if before != nil && before.Generation == r.Generation {
		then, seconds = before.counts(), r.Now.Sub(before.Now).Seconds()
	}
	for i := range rows {
		w := &rows[i]
		w.Messages, w.Bytes, w.Waiting, w.Unexpected = Unknown, Unknown, Unknown, Unknown
		c, here := now[w.Rank]
		if here {
			w.Unexpected = float64(c.Unexpected)
		}
		if b, both := then[w.Rank]; here && both {
			w.since(b, c, seconds)
		}
	}
	return rows
}

// counts returns the counters by rank.
func (r *Report) counts() map[int]Counts {
	all := make(map[int]Counts, len(r.Counts))
	for _, c := range r.Counts {
		all[c.Rank] = c
	}
	return all
}

// since sets the rates from two readings of a rank's counters and the seconds between them. If a counter has
// decreased, the rank has entered the generation in between, and its rates stay Unknown. Waiting is a percentage
// of the time between the two values of Counts.Time. A wait in progress is counted up to Counts.Time, which the
// rank sets at least every 750 ms, except while it is stopped.
func (w *Row) since(before, now Counts, seconds float64) {
	if now.Messages < before.Messages || now.Bytes < before.Bytes || seconds <= 0 {
		return
	}
	w.Messages = float64(now.Messages-before.Messages) / seconds
	w.Bytes = float64(now.Bytes-before.Bytes) / seconds
	if passed := now.Time.Sub(before.Time); passed > 0 {
		w.Waiting = max(0, min(100, 100*float64(now.Waited-before.Waited)/float64(passed)))
	}
}

// state returns the Row.State of a rank that answers.
func state(d bootstrap.Doing) string {
	switch {
	case len(d.Waits) > 0:
		return Waiting
	case d.Finished:
		return Finished
	default:
		return Computing
	}
}

// short formats a number in at most five characters. A number that rounds to 1000 or more gets a decimal SI prefix.
func short(v float64) string {
	if v < 0 {
		return "-"
	}
	const prefixes = "kMGTPE"
	prefix := ""
	for i := 0; v >= 999.5 && i < len(prefixes); i++ {
		v, prefix = v/1000, prefixes[i:i+1]
	}
	switch {
	case v >= 99.95 || prefix == "" && v == math.Trunc(v):
		return fmt.Sprintf("%.0f%s", v, prefix)
	case v >= 9.995 || prefix == "":
		return fmt.Sprintf("%.1f%s", v, prefix)
	default:
		return fmt.Sprintf("%.2f%s", v, prefix)
	}
}

// percent formats a percentage.
func percent(v float64) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", v)
}

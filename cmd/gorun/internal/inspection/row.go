package inspection

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// Unknown is a rate that is not known; it is less than all others.
const Unknown = -1

// What a rank does. Those from Silent on do not answer: Stopped by a signal, Debugged by a debugger that has stopped
// them, InKernel in a wait that no signal ends, Silent for a reason that is not known.
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
	// Where is what it waits for, or the line that it is at; "" if that is not known.
	Where string
	// Messages and Bytes are per second, Waiting is in percent, Unexpected in bytes. Each may be Unknown.
	Messages, Bytes, Waiting, Unexpected float64
}

// RankColumns is the width of the first column, with the blanks behind it.
const RankColumns = 8

// rowFormat is that of a line of the table.
const rowFormat = "%6s  %-9s %10s %8s %9s %10s  %s"

// Heading is the line above the rows.
func Heading() string {
	return fmt.Sprintf(rowFormat, "rank", "state", "messages/s", "bytes/s", "waiting %", "unexpected", "where")
}

// String is the line of the rank below Heading, without blanks at its end.
func (w Row) String() string {
	return strings.TrimRight(fmt.Sprintf(rowFormat, fmt.Sprint(w.Rank), w.State,
		short(w.Messages), short(w.Bytes), percent(w.Waiting), short(w.Unexpected), w.Where), " ")
}

// Rows are the ranks that have joined, in the order of their numbers. Rates are those since an earlier report,
// before; nil is none.
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
	if before != nil {
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

// counts are the counters by rank.
func (r *Report) counts() map[int]Counts {
	all := make(map[int]Counts, len(r.Counts))
	for _, c := range r.Counts {
		all[c.Rank] = c
	}
	return all
}

// since sets the rates between two readings of the counters. A rank that was started again in
// between has none. Waits count up to the rank's clock, which it reads four times a second, and not while it
// is stopped.
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

// state is what a rank that answers does in one word.
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

// short is a number in at most five characters, with a decimal prefix (SI) if it is 1000 or more.
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

// percent is a part in percent.
func percent(v float64) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", v)
}

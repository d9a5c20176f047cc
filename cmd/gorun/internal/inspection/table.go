package inspection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gorun-hpc/gorun/bootstrap"
)

const (
	// rowsMax bounds the ranks of a table.
	rowsMax = 30
	// headMax bounds the lines above it on a terminal: a sentence about many ranks is long.
	headMax = 8
)

// unknown is a rate that is not known; it is less than all others.
const unknown = -1

// row is a rank in the table.
type row struct {
	rank         int
	state, where string
	// messages and bytes are per second, waiting is in percent, unexpected in bytes.
	messages, bytes, waiting, unexpected float64
}

// Table is the report as a table of the ranks that have joined, below the lines that begin Text. Rates
// are those since an earlier report, before; nil is none. Of many ranks it has the 30 that wait most, in the order of
// their numbers. columns and lines are the size of the terminal, of which it is a part; 0 is no limit.
func (r *Report) Table(before *Report, columns, lines int) string {
	text := r.head()
	if columns > 0 {
		text = append(text[:1], wrapped(text[1:], columns)...)
		text = text[:min(len(text), headMax)]
	}
	rows := r.rows(before)
	shown := min(len(rows), rowsMax)
	if room := lines - len(text) - 1; lines > 0 && room < min(len(rows), shown+1) {
		shown = max(min(shown, room-1), 0)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.waiting, a.waiting) })
	more := len(rows) - shown
	rows = rows[:shown]
	slices.SortFunc(rows, func(a, b row) int { return a.rank - b.rank })
	text = append(text, fmt.Sprintf(rowFormat, "rank", "state", "messages/s", "bytes/s", "waiting %", "unexpected", "where"))
	for _, w := range rows {
		text = append(text, fmt.Sprintf(rowFormat, fmt.Sprint(w.rank), w.state,
			short(w.messages), short(w.bytes), percent(w.waiting), short(w.unexpected), w.where))
	}
	if more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	if lines > 0 {
		text = text[:min(len(text), lines)]
	}
	for i := range text {
		text[i] = strings.TrimRight(clipped(text[i], columns), " ")
	}
	return strings.Join(text, "\n") + "\n"
}

// rowFormat is that of a line of the table.
const rowFormat = "%6s  %-8s %10s %8s %9s %10s  %s"

// rows are the ranks that have joined, in order.
func (r *Report) rows(before *Report) []row {
	rows := make([]row, 0, len(r.Doing)+len(r.Silent))
	for _, d := range r.Doing {
		rows = append(rows, row{rank: d.Rank, state: state(d), where: d.Where()})
	}
	for _, rank := range r.Silent {
		rows = append(rows, row{rank: rank, state: "silent"})
	}
	slices.SortFunc(rows, func(a, b row) int { return a.rank - b.rank })
	now, then, seconds := r.counts(), map[int]Counts{}, 0.0
	if before != nil {
		then, seconds = before.counts(), r.Now.Sub(before.Now).Seconds()
	}
	for i := range rows {
		w := &rows[i]
		w.messages, w.bytes, w.waiting, w.unexpected = unknown, unknown, unknown, unknown
		c, here := now[w.rank]
		if here {
			w.unexpected = float64(c.Unexpected)
		}
		if b, both := then[w.rank]; here && both {
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
func (w *row) since(before, now Counts, seconds float64) {
	if now.Messages < before.Messages || now.Bytes < before.Bytes || seconds <= 0 {
		return
	}
	w.messages = float64(now.Messages-before.Messages) / seconds
	w.bytes = float64(now.Bytes-before.Bytes) / seconds
	if passed := now.Time.Sub(before.Time); passed > 0 {
		w.waiting = max(0, min(100, 100*float64(now.Waited-before.Waited)/float64(passed)))
	}
}

// state is what a rank does in one word.
func state(d bootstrap.Doing) string {
	switch {
	case len(d.Waits) > 0:
		return "waits"
	case d.Finished:
		return "finished"
	default:
		return "runs"
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

// wrapped breaks lines at blanks. A longer word is left.
func wrapped(lines []string, columns int) []string {
	var list []string
	for _, line := range lines {
		for utf8.RuneCountInString(line) > columns {
			head := clipped(line, columns+1)
			at := strings.LastIndexByte(head, ' ')
			if at <= 0 {
				break
			}
			list = append(list, line[:at])
			line = line[at+1:]
		}
		list = append(list, line)
	}
	return list
}

// clipped is the begin of a line; 0 columns are no limit.
func clipped(line string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns])
}

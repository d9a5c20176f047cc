package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// line is a row of the table with its values.
type line struct {
	Name    string             `json:"name"`
	Unit    string             `json:"unit"`
	Ours    float64            `json:"gorun"`
	Theirs  map[string]float64 `json:"theirs,omitempty"` // by system
	Against string             `json:"against"`
	Ratio   float64            `json:"ratio"` // gorun's value itself if against is absolute
	Bar     float64            `json:"bar,omitempty"`
	Aim     float64            `json:"aim,omitempty"`
	Higher  bool               `json:"higher_is_better,omitempty"`
	Verdict string             `json:"verdict"`
	Load    float64            `json:"load,omitempty"` // load average before the runs
}

// Verdicts of a row.
const (
	passed   = "pass"
	attained = "aim"
	missed   = "MISSED"
	unknown  = "?" // there are no values to compare
	shown    = ""  // the row has no bar
)

// lines returns the lines of the table.
func (c *comparison) lines() []line {
	all := make([]line, len(c.rows))
	for i := range c.rows {
		all[i] = c.line(&c.rows[i])
	}
	return all
}

// line returns the line of one row.
func (c *comparison) line(r *row) line {
	l := line{
		Name: r.name, Unit: r.unit, Against: r.against, Bar: r.bar, Aim: r.aim, Higher: r.higher,
		Theirs: map[string]float64{}, Verdict: unknown,
	}
	ours, ok := c.result.median(r.measurement, gorun, r.size)
	l.Load, _ = c.result.median(r.measurement, loadOf, 0)
	l.Ours = ours
	for i := range c.systems {
		s := &c.systems[i]
		if v, ok := c.result.median(r.theirKey(), s.name, r.size); ok && s.name != gorun {
			l.Theirs[s.name] = v
		}
	}
	reference, found := 1., true // in an absolute row, the bar is compared with gorun's value itself
	if r.against != absolute {
		key, system, size := c.reference(r)
		reference, found = c.result.median(key, system, size)
	}
	if !ok || !found || reference <= 0 {
		return l
	}
	l.Ratio = ours / reference
	l.Verdict = r.verdict(l.Ratio)
	return l
}

// theirKey returns the key of the peers' values.
func (r *row) theirKey() string {
	if r.theirs != "" {
		return r.theirs
	}
	return r.measurement
}

// reference returns the measurement, the system and the size of the value by which gorun's value is
// divided. If the row is against the better peer, and no peer has a value, the system is "".
func (c *comparison) reference(r *row) (key, system string, size int) {
	switch r.against {
	case openMPI, mpich, protoactor, netRPC:
		return r.theirKey(), r.against, r.size
	case better:
		best, name := 0.0, ""
		for _, peer := range []string{openMPI, mpich} {
			if v, ok := c.result.median(r.theirKey(), peer, r.size); ok && v > 0 && (name == "" || v > best == r.higher) {
				best, name = v, peer
			}
		}
		return r.theirKey(), name, r.size
	default: // another measurement of gorun
		size = r.size
		if _, ok := c.result.Samples[r.against][gorun][size]; !ok {
			size = 8 // the other measurement has only a value for 8 bytes
		}
		return r.against, gorun, size
	}
}

// verdict compares a ratio with the bar and the aim of the row.
func (r *row) verdict(ratio float64) string {
	reached := func(goal float64) bool {
		if r.higher {
			return ratio >= goal
		}
		return ratio <= goal
	}
	switch {
	case r.free:
		return shown
	case !reached(r.bar):
		return missed
	case r.aim > 0 && reached(r.aim):
		return attained
	default:
		return passed
	}
}

// text returns the table in Markdown.
func (c *comparison) text(lines []line) string {
	var b strings.Builder
	titles := make([]string, 0, len(c.systems)+7)
	titles = append(titles, "", "unit")
	for i := range c.systems {
		titles = append(titles, c.systems[i].title)
	}
	titles = append(titles, "against", "ratio", "bar", "aim")
	if c.load {
		titles = append(titles, "load")
	}
	titles = append(titles, "")
	b.WriteString("| " + strings.Join(titles, " | ") + " |\n|" + strings.Repeat("---|", len(titles)) + "\n")
	for i := range lines {
		l := &lines[i]
		cells := make([]string, 0, len(titles))
		cells = append(cells, l.Name, l.Unit)
		for k := range c.systems {
			v, ok := l.Theirs[c.systems[k].name]
			if c.systems[k].name == gorun {
				v, ok = l.Ours, l.Ours != 0 || l.Verdict != unknown
			}
			cells = append(cells, number(v, ok))
		}
		sign := "<= "
		if l.Higher {
			sign = ">= "
		}
		bar := "-"
		if l.Bar > 0 {
			bar = sign + number(l.Bar, true)
		}
		cells = append(cells, l.Against, number(l.Ratio, l.Verdict != unknown), bar, number(l.Aim, l.Aim > 0))
		if c.load {
			cells = append(cells, number(l.Load, l.Load > 0))
		}
		cells = append(cells, l.Verdict)
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// summary returns a line with the number of rows that miss their bars, and the median of the ratios. For the
// median, it inverts the ratios of rows in which higher is better.
func summary(lines []line) string {
	var ratios []float64
	below := 0
	for i := range lines {
		switch l := &lines[i]; {
		case l.Verdict == unknown || l.Ratio <= 0:
			continue
		case l.Higher:
			ratios = append(ratios, 1/l.Ratio)
		default:
			ratios = append(ratios, l.Ratio)
		}
		if lines[i].Verdict == missed {
			below++
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows, of which %d miss the bar. Median of the ratios, inverted where higher is better: %s.\n",
		len(ratios), below, number(median(ratios), true))
}

// curveText returns a table in Markdown with the medians and the extremes of the points of a curve. It
// returns "" if the curve has no points.
func (c *comparison) curveText(what *curve) string {
	all := c.curveChart(what)
	if len(all.Series) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s, %s |", what.name, what.unit)
	cells := map[int][]string{}
	for i := range all.Series {
		s := &all.Series[i]
		fmt.Fprintf(&b, " %s |", s.Name)
		for _, p := range s.Points {
			for len(cells[p.Size]) < i {
				cells[p.Size] = append(cells[p.Size], "-")
			}
			cells[p.Size] = append(cells[p.Size], fmt.Sprintf("%s [%s..%s]", number(p.Median, true), number(p.Low, true), number(p.High, true)))
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all.Series)) + "\n")
	for _, size := range slices.Sorted(maps.Keys(cells)) {
		for len(cells[size]) < len(all.Series) {
			cells[size] = append(cells[size], "-")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", chart.Bytes(size), strings.Join(cells[size], " | "))
	}
	return b.String()
}

// number formats a value with three significant digits, or as "-" if ok is false.
func number(v float64, ok bool) string {
	if !ok {
		return "-"
	}
	if v >= 1e6 {
		return fmt.Sprintf("%.3gM", v/1e6)
	}
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.3g", v)
}

// problems lists the systems that are missing and the measurements that failed.
func (c *comparison) problems() string {
	var b strings.Builder
	for _, s := range c.result.Systems {
		if s.Missing != "" {
			fmt.Fprintf(&b, "* %s\n", s.Missing)
		}
	}
	for i := range c.measurements {
		m := &c.measurements[i]
		for k := range c.systems {
			if p := c.result.Problems[m.key][c.systems[k].name]; p != "" {
				fmt.Fprintf(&b, "* %s, %s: %s\n", m.key, c.systems[k].title, strings.SplitN(p, "\n", 2)[0])
			}
		}
	}
	return b.String()
}

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// line is a row with its figures.
type line struct {
	Name    string             `json:"name"`
	Unit    string             `json:"unit"`
	Ours    float64            `json:"gorun"`
	Theirs  map[string]float64 `json:"theirs,omitempty"` // by system
	Against string             `json:"against"`
	Ratio   float64            `json:"ratio"` // or the value itself, when there is nothing to compare with
	Bar     float64            `json:"bar,omitempty"`
	Aim     float64            `json:"aim,omitempty"`
	Higher  bool               `json:"higher_is_better,omitempty"`
	Verdict string             `json:"verdict"`
}

// Verdicts of a row.
const (
	passed   = "pass"
	attained = "aim"
	missed   = "MISSED"
	unknown  = "?" // there are no figures to compare
	shown    = ""  // no bar
)

// lines computes the table.
func (c *comparison) lines() []line {
	all := make([]line, len(c.rows))
	for i := range c.rows {
		all[i] = c.line(&c.rows[i])
	}
	return all
}

// line computes one row.
func (c *comparison) line(r *row) line {
	l := line{
		Name: r.name, Unit: r.unit, Against: r.against, Bar: r.bar, Aim: r.aim, Higher: r.higher,
		Theirs: map[string]float64{}, Verdict: unknown,
	}
	ours, ok := c.result.median(r.measurement, gorun, r.size)
	l.Ours = ours
	theirs := r.theirs
	if theirs == "" {
		theirs = r.measurement
	}
	for i := range c.systems {
		s := &c.systems[i]
		if v, ok := c.result.median(theirs, s.name, r.size); ok && s.name != gorun {
			l.Theirs[s.name] = v
		}
	}
	reference, found := c.reference(r, &l)
	if !ok || !found {
		return l
	}
	l.Ratio = ours / reference
	l.Verdict = r.verdict(l.Ratio)
	return l
}

// reference returns the value that ours is divided by.
func (c *comparison) reference(r *row, l *line) (float64, bool) {
	switch r.against {
	case absolute:
		return 1, true
	case openMPI, mpich, protoactor, netRPC:
		v, ok := l.Theirs[r.against]
		return v, ok && v > 0
	case better:
		best, found := 0.0, false
		for _, name := range []string{openMPI, mpich} {
			if v, ok := l.Theirs[name]; ok && v > 0 && (!found || v > best == r.higher) {
				best, found = v, true
			}
		}
		return best, found
	default: // another measurement of ours
		sizes := c.result.Samples[r.against][gorun]
		size := r.size
		if _, ok := sizes[size]; !ok {
			size = 8 // such rows compare with the small message
		}
		v, ok := c.result.median(r.against, gorun, size)
		return v, ok && v > 0
	}
}

// verdict judges a ratio.
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
	titles = append(titles, "against", "ratio", "bar", "aim", "")
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
		cells = append(cells, l.Against, number(l.Ratio, l.Verdict != unknown), bar, number(l.Aim, l.Aim > 0), l.Verdict)
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// number prints a value with three digits that count.
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

// problems lists what failed and what was not there.
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

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// drawStored draws the pictures of the selected comparisons from their stored results.
func drawStored(o *options) error {
	drawn := false
	for _, p := range plans() {
		if !slices.Contains(o.part, p.name) {
			continue
		}
		r, err := stored(filepath.Join(o.out, p.name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		c := &comparison{plan: p, quick: r.Quick, rounds: r.Rounds, result: r}
		for _, i := range r.Systems {
			if i.Missing == "" {
				c.systems = append(c.systems, system{name: i.Name, title: i.Title, variant: i.Variant})
			}
		}
		if err := c.draw(o.out); err != nil {
			return err
		}
		drawn = true
	}
	if !drawn {
		return fmt.Errorf("%s: no results of %s", o.out, strings.Join(o.part, ", "))
	}
	return nil
}

// draw writes the pictures for which there are results.
func (c *comparison) draw(out string) error {
	var all error
	for i := range c.curves {
		all = errors.Join(all, writePicture(filepath.Join(out, c.curves[i].name+".png"), c.curveChart(&c.curves[i]).WritePNG))
	}
	if c.title != "" {
		all = errors.Join(all, writePicture(filepath.Join(out, c.name+".png"), c.ratioChart().WritePNG))
	}
	return all
}

// writePicture writes a picture to a file. It writes no file if there is nothing to draw.
func writePicture(name string, write func(io.Writer) error) error {
	var picture strings.Builder
	if err := write(&picture); err != nil {
		if errors.Is(err, chart.ErrEmpty) {
			return nil
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(picture.String()), 0o644)
}

// curveChart returns the chart of a curve. For each system and size, the chart has the median and the
// extremes of the rounds.
func (c *comparison) curveChart(what *curve) *chart.Curves {
	all := &chart.Curves{Unit: what.unit, Header: chart.Header{Title: what.title, Notes: c.notes("Bands: from the lowest to the highest of them.")}}
	for i := range c.systems {
		s := chart.Series{Name: c.systems[i].title}
		for _, key := range what.measurements {
			samples := c.result.Samples[key][c.systems[i].name]
			for _, size := range slices.Sorted(maps.Keys(samples)) {
				median, ok := c.result.median(key, c.systems[i].name, size)
				if ok && size > 0 && slices.Min(samples[size]) > 0 {
					s.Points = append(s.Points, chart.Point{Size: size, Low: slices.Min(samples[size]), Median: median, High: slices.Max(samples[size])})
				}
			}
		}
		if len(s.Points) > 0 {
			all.Series = append(all.Series, s)
		}
	}
	return all
}

// ratioChart returns the chart of the rows that compare gorun with a peer.
func (c *comparison) ratioChart() *chart.Bars {
	all := &chart.Bars{First: gorun, Header: chart.Header{Title: c.title, Notes: c.notes("Whiskers: the lowest and the highest ratio of a round.")}}
	for i := range c.rows {
		if bar, ok := c.bar(&c.rows[i]); ok {
			all.Rows = append(all.Rows, bar)
		}
	}
	return all
}

// bar returns the bar in the chart for a row of the table. The bar shows by which factor gorun is better than
// the peer. If the row has no ratio to the value of a peer, or measures raw TCP, bar returns false.
func (c *comparison) bar(r *row) (chart.Ratio, bool) {
	_, system, _ := c.reference(r)
	l := c.line(r)
	if system == "" || system == gorun || l.Verdict == unknown || l.Ratio <= 0 || c.program(r.measurement) == rawTCP {
		return chart.Ratio{}, false
	}
	times := func(ratio float64) float64 {
		if r.higher {
			return ratio
		}
		return 1 / ratio
	}
	low, high := times(l.Ratio), times(l.Ratio)
	ours, theirs := c.result.Samples[r.measurement][gorun][r.size], c.result.Samples[r.theirKey()][system][r.size]
	for round := range min(len(ours), len(theirs)) {
		if ours[round] > 0 && theirs[round] > 0 {
			ratio := times(ours[round] / theirs[round])
			low, high = min(low, ratio), max(high, ratio)
		}
	}
	return chart.Ratio{
		Name: strings.TrimSuffix(strings.TrimPrefix(r.name, c.name+" "), " (MPICH)"),
		Low:  low, Median: times(l.Ratio), High: high,
		First: chart.Quantity(l.Ours, r.unit), Other: chart.Quantity(l.Theirs[system], r.unit), Than: c.titleOf(system),
	}, true
}

// program returns the program of the measurement to which a key of values belongs.
func (c *comparison) program(key string) string {
	for i := range c.measurements {
		if c.measurements[i].key == measurementOf(key) {
			return c.measurements[i].program
		}
	}
	return ""
}

func (c *comparison) titleOf(system string) string {
	for i := range c.systems {
		if c.systems[i].name == system {
			return c.systems[i].title
		}
	}
	return system
}

// These expressions match versions in the output of systems and modules. The charts show the matching part.
var (
	versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)
	versionDate   = regexp.MustCompile(`^v0\.0\.0-(\d{4})(\d\d)(\d\d)`)
)

// shortVersion returns the part of a version that the charts show. For a version of Go, which is the version
// of the standard library, it returns "".
func shortVersion(v string) string {
	switch date := versionDate.FindStringSubmatch(v); {
	case date != nil:
		return strings.Join(date[1:], "-")
	case strings.HasPrefix(v, "go"):
		return ""
	}
	return versionNumber.FindString(v)
}

// notes returns the lines below the title of a chart. They describe the figures, the systems and the machine.
func (c *comparison) notes(spread string) []string {
	m := &c.result.Machine
	rounds := fmt.Sprintf("Medians of %d rounds, in which the systems took turns. ", c.rounds)
	if c.rounds == 1 {
		rounds, spread = "One round. ", ""
	}
	if c.quick {
		rounds, spread = "A quick run, which tests the comparison: its figures mean nothing. ", ""
	}
	where := make([]string, 0, 3+len(c.result.Systems))
	where = append(where, fmt.Sprintf("%s, %d processors", m.CPU, m.Processors), "Linux "+m.Kernel, m.Go)
	for _, s := range c.result.Systems {
		v := shortVersion(s.Version)
		if s.Name == gorun {
			v = m.Commit // the commit that was measured; gorun has no version number
		}
		if s.Missing == "" && v != "" {
			where = append(where, s.Title+" "+v)
		}
	}
	return []string{rounds + spread, strings.Join(where, ", ") + "."}
}

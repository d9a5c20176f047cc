package main

import (
	"errors"
	"fmt"
	"image/color"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	plotWidth  = 7 * vg.Inch
	plotHeight = 4.5 * vg.Inch
)

// colors of the systems in the order in which they are listed.
var colors = []color.Color{
	color.RGBA{R: 0x00, G: 0x7d, B: 0x9c, A: 0xff},
	color.RGBA{R: 0xd9, G: 0x5f, B: 0x02, A: 0xff},
	color.RGBA{R: 0x75, G: 0x70, B: 0xb3, A: 0xff},
	color.RGBA{R: 0xe6, G: 0xab, B: 0x02, A: 0xff},
	color.RGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff},
}

// plots writes what there are figures for.
func (c *comparison) plots(out string) error {
	return errors.Join(
		c.curve(filepath.Join(out, "latency.svg"), "latency curve", "Latency, two ranks on two cores", "us, one way"),
		c.curve(filepath.Join(out, "bandwidth.svg"), "bandwidth curve", "Bandwidth, two ranks on two cores, windows of 64", "MB/s"),
		c.ratios(filepath.Join(out, c.ratioPlot)),
	)
}

// curve draws a measurement over the message size, a line for each system.
func (c *comparison) curve(name, measurement, title, unit string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "message size, bytes", unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Title.Padding = vg.Points(8)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(sizeTicks), plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	drawn := false
	for i := range c.systems {
		var points plotter.XYs
		for _, size := range slices.Sorted(maps.Keys(c.result.Samples[measurement][c.systems[i].name])) {
			if v, ok := c.result.median(measurement, c.systems[i].name, size); ok && size > 0 && v > 0 {
				points = append(points, plotter.XY{X: float64(size), Y: v})
			}
		}
		if len(points) < 2 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = colors[i%len(colors)], vg.Points(1.5)
		marks.Color, marks.Radius, marks.Shape = line.Color, vg.Points(2), draw.CircleGlyph{}
		p.Add(line, marks)
		p.Legend.Add(c.systems[i].title, line, marks)
		drawn = true
	}
	if !drawn {
		return nil
	}
	return p.Save(plotWidth, plotHeight, name)
}

// sizeTicks marks the powers of 16.
func sizeTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for v := 1.0; v <= high; v *= 16 {
		if v < low {
			continue
		}
		label := fmt.Sprint(v)
		switch {
		case v >= mib:
			label = fmt.Sprintf("%gM", v/mib)
		case v >= kib:
			label = fmt.Sprintf("%gK", v/kib)
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	return ticks
}

// peerNames are what a row that is drawn by ratios is compared with.
var peerNames = []string{better, openMPI, mpich, protoactor, netRPC}

// ratios draws, for each row that is compared with a peer, how many times
// better than the peer ours is, and its bar.
func (c *comparison) ratios(name string) error {
	var bars, goals plotter.XYs
	var names []string
	for i := len(c.result.Table) - 1; i >= 0; i-- {
		l := &c.result.Table[i]
		if l.Verdict == unknown || l.Verdict == shown || !slices.Contains(peerNames, l.Against) || l.Ratio <= 0 {
			continue
		}
		times, goal := 1/l.Ratio, 1/l.Bar
		if l.Higher {
			times, goal = l.Ratio, l.Bar
		}
		at := float64(len(names))
		bars = append(bars, plotter.XY{X: times, Y: at})
		goals = append(goals, plotter.XY{X: goal, Y: at})
		names = append(names, l.Name)
	}
	if len(names) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "How many times better than the peer, and the bar", "times"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.NominalY(names...)
	p.Add(plotter.NewGrid())
	for i := range bars {
		stem, err := plotter.NewLine(plotter.XYs{{X: 1, Y: bars[i].Y}, bars[i]})
		if err != nil {
			return err
		}
		stem.Color, stem.Width = colors[0], vg.Points(6)
		p.Add(stem)
	}
	marks, err := plotter.NewScatter(goals)
	if err != nil {
		return err
	}
	marks.Color, marks.Radius, marks.Shape = colors[1], vg.Points(3), draw.PyramidGlyph{}
	p.Add(marks)
	p.Legend.Add("bar", marks)
	p.X.Min, p.X.Max = math.Min(p.X.Min, 0.5), math.Max(p.X.Max, 2)*1.2
	p.Title.Padding = vg.Points(8)
	return p.Save(plotWidth, vg.Length(len(names)+6)*0.2*vg.Inch, name)
}

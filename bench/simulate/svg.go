package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// curves is a chart of lines over two logarithmic axes. The method write stores it as SVG. This program does not use
// the library with which bench/peers draws, because the go.sum of every program that uses gorun would then
// list that library.
type curves struct {
	Title, X, Y string
	Series      []series
}

// series is a line with a name.
type series struct {
	Name   string
	Points []point
}

// point is a point of a line. It is drawn only if both coordinates are positive.
type point struct{ x, y float64 }

// colors contains the colors of lines, which are distinguishable for the colour-blind (M. Okabe and
// K. Ito, "Color Universal Design"). Lines beyond the last color repeat the colors with dashes.
var colors = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// Dimensions of the picture, in pixels.
const (
	plotWidth, plotHeight        = 640, 420
	marginLeft, marginTop        = 80, 40
	marginBottom, legendWidth    = 50, 300
	legendStep, tick, labelSpace = 18, 5, 8
)

var errNoPoints = errors.New("there is nothing to draw")

// scale is a logarithmic axis between two powers of ten. low and high are their exponents.
type scale struct{ low, high float64 }

// axis returns the scale that includes all values.
func (c *curves) axis(value func(point) float64) scale {
	s := scale{math.Inf(1), math.Inf(-1)}
	for _, line := range c.Series {
		for _, p := range line.drawn() {
			s.low, s.high = min(s.low, value(p)), max(s.high, value(p))
		}
	}
	s.low, s.high = math.Floor(math.Log10(s.low)+1e-9), math.Ceil(math.Log10(s.high)-1e-9)
	if s.low == s.high {
		s.high++
	}
	return s
}

// at returns the position of a value on the scale, from 0 to 1.
func (s scale) at(v float64) float64 { return (math.Log10(v) - s.low) / (s.high - s.low) }

// drawn returns the points that have positive coordinates.
func (s *series) drawn() []point {
	var all []point
	for _, p := range s.Points {
		if p.x > 0 && p.y > 0 {
			all = append(all, p)
		}
	}
	return all
}

// write writes the picture as SVG. The argument to is the writer.
func (c *curves) write(to io.Writer) error {
	x, y := c.axis(func(p point) float64 { return p.x }), c.axis(func(p point) float64 { return p.y })
	if math.IsInf(x.low, 0) {
		return errNoPoints
	}
	w := &bytes.Buffer{}
	width, height := marginLeft+plotWidth+legendWidth, marginTop+plotHeight+marginBottom
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text(w, marginLeft, marginTop/2, "start", c.Title)
	text(w, marginLeft+plotWidth/2, height-labelSpace, "middle", c.X)
	text(w, marginLeft/4, marginTop-labelSpace, "start", c.Y)
	right, bottom := func(v float64) float64 { return marginLeft + plotWidth*x.at(v) }, func(v float64) float64 { return marginTop + plotHeight*(1-y.at(v)) }
	for e := x.low; e <= x.high; e++ {
		at := right(math.Pow(10, e))
		fmt.Fprintf(w, `<path d="M%.1f %dV%d" stroke="#ddd"/>`+"\n", at, marginTop, marginTop+plotHeight+tick)
		text(w, at, marginTop+plotHeight+3*labelSpace, "middle", label(e))
	}
	for e := y.low; e <= y.high; e++ {
		at := bottom(math.Pow(10, e))
		fmt.Fprintf(w, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", marginLeft-tick, at, marginLeft+plotWidth)
		text(w, marginLeft-labelSpace, at+labelSpace/2, "end", label(e))
	}
	for i := range c.Series {
		c.line(w, i, right, bottom)
	}
	fmt.Fprintln(w, "</svg>")
	_, err := to.Write(w.Bytes())
	return err
}

// line draws a series and its entry of the legend.
func (c *curves) line(w *bytes.Buffer, i int, right, bottom func(float64) float64) {
	color, dash := colors[i%len(colors)], ""
	if round := i / len(colors); round > 0 {
		dash = fmt.Sprintf(` stroke-dasharray="%d 3"`, 2+3*round)
	}
	points := c.Series[i].drawn()
	places := make([]string, len(points))
	for k, p := range points {
		places[k] = fmt.Sprintf("%.1f,%.1f", right(p.x), bottom(p.y))
		fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", right(p.x), bottom(p.y), color)
	}
	fmt.Fprintf(w, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`+"\n", strings.Join(places, " "), color, dash)
	top := marginTop + legendStep*i
	fmt.Fprintf(w, `<path d="M%d %dh24" stroke="%s" stroke-width="2"%s/>`+"\n", marginLeft+plotWidth+labelSpace, top, color, dash)
	text(w, marginLeft+plotWidth+labelSpace+30, top+4, "start", c.Series[i].Name)
}

// label returns the label of a power of ten at an axis.
func label(exponent float64) string {
	if exponent < -3 || exponent > 6 {
		return fmt.Sprintf("1e%.0f", exponent)
	}
	return fmt.Sprint(math.Pow(10, exponent))
}

// text writes words at a position.
func text[X, Y int | float64](w *bytes.Buffer, x X, y Y, anchor, words string) {
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#1f2328">`, float64(x), float64(y), anchor)
	_ = xml.EscapeText(w, []byte(words)) // writing to a Buffer cannot fail
	fmt.Fprintln(w, "</text>")
}

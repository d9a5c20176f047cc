package chart

import (
	"io"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Bars is a chart of ratios. A bar to the right of 1 shows how many times better the first system is. A bar
// to the left, in another colour, shows that the first system is worse.
type Bars struct {
	Header
	First string // name of the first system
	Rows  []Ratio
}

// Ratio is a bar. The factor is how many times better the first system is than another system. A Ratio has
// the median and the extremes of this factor, and the values of the two systems.
type Ratio struct {
	Name              string
	Low, Median, High float64
	First, Other      string // the values of the two systems, with units
	Than              string // the name of the other system
}

const (
	barHeight vg.Length = 11
	barRow    vg.Length = 22
	columnGap vg.Length = 10
	// The span of the axis is its highest ratio divided by its lowest ratio. If the span is between fewTimes
	// and manyTimes, the axis has lines at the powers of two.
	fewTimes, manyTimes = 3, 200
	// tickGap is the minimum distance between two labels of the axis.
	tickGap vg.Length = 62
)

// WritePNG draws the chart and writes it to w. It returns ErrEmpty if there is nothing to draw, or
// the error of w.
func (b *Bars) WritePNG(w io.Writer) error {
	p, err := b.draw()
	if err != nil {
		return err
	}
	return p.write(w)
}

func (b *Bars) draw() (*picture, error) {
	if len(b.Rows) == 0 {
		return nil, ErrEmpty
	}
	top := b.below() + rowHeight + lineGap
	bottom := top + vg.Length(len(b.Rows))*barRow
	p := newPicture(bottom + 2*rowHeight + lineGap + margin)
	p.header(&b.Header)
	c := b.columns()
	heads := b.below() + rowHeight/2
	p.text(bold, text.XRight, c.first, heads, b.First)
	p.text(plain, text.XLeft, c.than-c.otherWidth, heads, "compared with")
	axis := b.axis(&c)
	for _, v := range axis.times() {
		at := axis.place(v)
		p.line(rule, 0.75, p.at(at, top), p.at(at, bottom))
		p.text(plain, text.XCenter, at, bottom+lineGap+textSize/2, mark(v, "")+"×")
	}
	one := axis.place(1)
	for i := range b.Rows {
		r, y := &b.Rows[i], top+(vg.Length(i)+0.5)*barRow
		p.text(plain, text.XLeft, margin, y, r.Name)
		b.bar(p, r, y, &axis)
		p.text(bold, text.XRight, c.first, y, r.First)
		p.text(plain, text.XRight, c.than-columnGap, y, r.Other)
		p.text(plain, text.XLeft, c.than, y, r.Than)
	}
	p.line(ink, 1.5, p.at(one, top-lineGap), p.at(one, bottom+lineGap/2))
	legend := bottom + lineGap + rowHeight + textSize/2
	p.text(note, text.XRight, one-lineGap, legend, "← "+b.First+" is worse")
	p.text(note, text.XLeft, one+lineGap, legend, b.First+" is so many times better →")
	return p, nil
}

// columns contains the positions of the columns of a chart of bars.
type columns struct {
	left, right vg.Length // the ends of the column of bars
	first, than vg.Length // the right end of the first systems' values, the left end of the other systems' names
	otherWidth  vg.Length
}

func (b *Bars) columns() columns {
	name, first, other, than := vg.Length(0), bold.Width(b.First), vg.Length(0), vg.Length(0)
	for i := range b.Rows {
		r := &b.Rows[i]
		name, first = max(name, plain.Width(r.Name)), max(first, bold.Width(r.First))
		other, than = max(other, plain.Width(r.Other)), max(than, plain.Width(r.Than))
	}
	c := columns{left: margin + name + columnGap, otherWidth: other + columnGap}
	c.than = width - margin - max(than, plain.Width("compared with")-c.otherWidth)
	c.first = c.than - c.otherWidth - columnGap
	c.right = c.first - first - columnGap
	return c
}

// times returns the ratios at which the axis has a line.
func (s *scale) times() []float64 {
	switch span := s.high / s.low; {
	case span > manyTimes:
		base := 10.
		for s.place(base)-s.place(1) < tickGap {
			base *= 10
		}
		return s.powers(base, 1)
	case span > fewTimes:
		return s.powers(2, 1)
	default:
		return s.powers(10, 1, 1.25, 1.5, 2, 3, 5, 8)
	}
}

// axis returns the scale of the ratios. The scale leaves room for the figures beside the longest bars.
func (b *Bars) axis(c *columns) scale {
	s := scale{low: 1, high: 1, from: c.left, to: c.right}
	for i := range b.Rows {
		s.low, s.high = min(s.low, b.Rows[i].Low), max(s.high, b.Rows[i].High)
	}
	room := float64((plain.Width("0.00×") + 2*lineGap) / (c.right - c.left))
	span := math.Log(s.high / s.low)
	if span == 0 {
		span = 1
	}
	widened := span / (1 - 2*room)
	s.low, s.high = s.low*math.Exp(-room*widened), s.low*math.Exp((1-room)*widened)
	return s
}

// bar draws one bar, its figure, and the line from the lowest to the highest ratio.
func (b *Bars) bar(p *picture, r *Ratio, y vg.Length, s *scale) {
	one, end := s.place(1), s.place(r.Median)
	low, high := s.place(r.Low), s.place(r.High)
	if r.Median < 1 {
		p.rectangle(vermillion, end, y-barHeight/2, one, y+barHeight/2)
		p.text(plain, text.XRight, min(low, one)-lineGap, y, Times(r.Median))
	} else {
		p.rectangle(blue, one, y-barHeight/2, end, y+barHeight/2)
		p.text(plain, text.XLeft, max(high, one)+lineGap, y, Times(r.Median))
	}
	p.line(ink, 1.25, p.at(low, y), p.at(high, y))
	for _, at := range []vg.Length{low, high} {
		p.line(ink, 1.25, p.at(at, y-barHeight/3), p.at(at, y+barHeight/3))
	}
}

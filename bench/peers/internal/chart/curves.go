package chart

import (
	"errors"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curves is a chart of a quantity over the size of a message. It has a curve for each system and, below the
// curves, a table of the medians.
type Curves struct {
	Header
	Unit   string
	Series []Series
}

// Series is the curve of one system, ordered by size.
type Series struct {
	Name   string
	Points []Point
}

// Point contains the measured values for one message size.
type Point struct {
	Size              int
	Low, Median, High float64
}

const (
	plotHeight  vg.Length = 360
	rowHeight             = textSize + lineGap
	glyphRadius vg.Length = 3.5
	// sizeStep is the smallest factor between two sizes with a label and a column.
	sizeStep = 4
)

// looks contains the colors, marks and dashes of the curves, in the order of the series.
var looks = []struct {
	color color.NRGBA
	shape draw.GlyphDrawer
	dash  []vg.Length
}{
	{blue, draw.CircleGlyph{}, nil},
	{vermillion, draw.PyramidGlyph{}, []vg.Length{8, 3}},
	{green, draw.BoxGlyph{}, []vg.Length{3, 3}},
	{purple, draw.PyramidGlyph{}, []vg.Length{8, 3, 2, 3}},
	{yellow, draw.BoxGlyph{}, []vg.Length{2, 2}},
}

// ErrEmpty means that there is nothing to draw.
var ErrEmpty = errors.New("chart: there are no figures to draw")

// WritePNG draws the chart and writes it to w. It returns ErrEmpty if there is nothing to draw, or
// the error of w.
func (c *Curves) WritePNG(w io.Writer) error {
	p, err := c.draw()
	if err != nil {
		return err
	}
	return p.write(w)
}

func (c *Curves) draw() (*picture, error) {
	x, y, ok := c.scales()
	if !ok {
		return nil, ErrEmpty
	}
	top := c.below() + lineGap
	p := newPicture(top + plotHeight + vg.Length(1+len(c.Series))*rowHeight + 2*lineGap + margin)
	p.header(&c.Header)
	// The plot begins to the right of the labels of the axis and of the names of the systems.
	ticks := y.powers(10, y.multiples()...)
	names := make([]string, 0, len(ticks)+len(c.Series))
	for _, v := range ticks {
		names = append(names, mark(v, c.Unit))
	}
	left := margin + max(widest(&plain, append(names, c.tableTitle())...), 5*glyphRadius+lineGap+widest(&bold, c.names()...)) + 2*lineGap
	sizes := c.columns()
	x.from, x.to = left+columnInset, width-margin-columnInset
	y.from, y.to = top+plotHeight, top
	for i, v := range ticks {
		p.line(rule, 0.75, p.at(left, y.place(v)), p.at(width-margin, y.place(v)))
		p.text(plain, text.XRight, left-lineGap, y.place(v), names[i])
	}
	for _, size := range sizes {
		at := x.place(float64(size))
		p.line(rule, 0.75, p.at(at, y.from), p.at(at, y.to))
		p.text(plain, text.XCenter, at, y.from+lineGap+textSize/2, Bytes(size))
	}
	p.text(plain, text.XLeft, margin, y.from+lineGap+textSize/2, c.tableTitle())
	for i := range slices.Backward(c.Series) { // the first curve is drawn last, above the others
		c.curve(p, i, &x, &y)
	}
	c.table(p, y.from+lineGap+rowHeight, sizes, &x)
	return p, nil
}

// columnInset keeps the outermost columns of the table within the picture.
const columnInset vg.Length = 24

// tableTitle returns the title of the table: its quantity and unit.
func (c *Curves) tableTitle() string { return named("median,", c.Unit) }

func (c *Curves) names() []string {
	all := make([]string, len(c.Series))
	for i := range c.Series {
		all[i] = c.Series[i].Name
	}
	return all
}

// scales returns axes that include all points. ok is false if no chart can be drawn.
func (c *Curves) scales() (x, y scale, ok bool) {
	x, y = scale{low: math.Inf(1)}, scale{low: math.Inf(1)}
	for i := range c.Series {
		for _, q := range c.Series[i].Points {
			x.low, x.high = min(x.low, float64(q.Size)), max(x.high, float64(q.Size))
			y.low, y.high = min(y.low, q.Low), max(y.high, q.High)
		}
	}
	if x.low >= x.high || x.low <= 0 || y.low <= 0 {
		return x, y, false // a logarithmic axis has no zero, and a curve needs two sizes
	}
	y.low, y.high = y.low/1.3, y.high*1.3
	return x, y, true
}

// multiples returns the factors of powers of ten at which the axis has lines.
func (s *scale) multiples() []float64 {
	if s.high/s.low > 2000 {
		return []float64{1}
	}
	return []float64{1, 2, 5}
}

// columns returns the sizes that have a label and a column.
func (c *Curves) columns() []int {
	var all []int
	for i := range c.Series {
		for _, q := range c.Series[i].Points {
			if !slices.Contains(all, q.Size) {
				all = append(all, q.Size)
			}
		}
	}
	slices.Sort(all)
	next := 0
	return slices.DeleteFunc(all, func(size int) bool {
		if size < next {
			return true
		}
		next = size * sizeStep
		return false
	})
}

// curve draws the medians of a system, and a band from its lowest to its highest values.
func (c *Curves) curve(p *picture, i int, x, y *scale) {
	l, points := looks[i%len(looks)], c.Series[i].Points
	n := len(points)
	middle, band := make([]vg.Point, n), make([]vg.Point, 2*n)
	for k, q := range points {
		at := x.place(float64(q.Size))
		middle[k] = p.at(at, y.place(q.Median))
		band[k], band[2*n-1-k] = p.at(at, y.place(q.High)), p.at(at, y.place(q.Low))
	}
	if n == 0 {
		return
	}
	shade := l.color
	shade.A = 0x38
	p.FillPolygon(shade, band)
	p.StrokeLines(draw.LineStyle{Color: l.color, Width: 2, Dashes: l.dash}, middle)
	for _, at := range middle {
		p.DrawGlyph(draw.GlyphStyle{Color: l.color, Radius: glyphRadius, Shape: l.shape}, at)
	}
}

// table writes the medians below the sizes. At the left it writes the names of the systems and
// draws their marks.
func (c *Curves) table(p *picture, y vg.Length, sizes []int, x *scale) {
	for i := range c.Series {
		l := looks[i%len(looks)]
		at := y + lineGap + (vg.Length(i)+0.5)*rowHeight
		p.StrokeLines(draw.LineStyle{Color: l.color, Width: 2, Dashes: l.dash}, []vg.Point{p.at(margin, at), p.at(margin+5*glyphRadius, at)})
		p.DrawGlyph(draw.GlyphStyle{Color: l.color, Radius: glyphRadius, Shape: l.shape}, p.at(margin+2.5*glyphRadius, at))
		name := plain
		if i == 0 {
			name = bold
		}
		p.text(name, text.XLeft, margin+5*glyphRadius+lineGap, at, c.Series[i].Name)
		for _, q := range c.Series[i].Points {
			if slices.Contains(sizes, q.Size) {
				p.text(name, text.XCenter, x.place(float64(q.Size)), at, figure(q.Median))
			}
		}
	}
	p.line(rule, 0.75, p.at(margin, y+lineGap/2), p.at(width-margin, y+lineGap/2))
}

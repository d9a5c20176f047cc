package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

// drawing is a chart.
type drawing interface {
	draw() (*picture, error)
}

// sweep returns a curve over the sizes from 1 B up to a size. The curve starts at the given
// value.
func sweep(name string, to int, value float64) Series {
	s := Series{Name: name}
	for size := 1; size <= to; size *= 2 {
		v := value * (1 + float64(size)/5000)
		s.Points = append(s.Points, Point{size, v * 0.9, v, v * 1.2})
	}
	return s
}

// charts returns typical and extreme charts.
func charts() map[string]drawing {
	long := Header{Title: "A title", Notes: []string{"A note.", string(bytes.Repeat([]byte("many words that need more than a line, "), 8))}}
	crowd := &Bars{Header: long, First: "gorun"}
	for i := range 30 {
		crowd.Rows = append(crowd.Rows, Ratio{
			Name: fmt.Sprintf("something long and a number of ranks, %d", i), Low: 0.001 * float64(i+1), Median: 0.002 * float64(i+1), High: 3000,
			First: "0.123 M/s", Other: "1023 MiB", Than: "Open MPI over UCX",
		})
	}
	return map[string]drawing{
		"curves":           &Curves{Header: long, Unit: "us", Series: []Series{sweep("gorun", 4<<20, 0.4), sweep("Open MPI", 4<<20, 0.5), sweep("MPICH", 4<<20, 0.45)}},
		"five curves":      &Curves{Header: long, Unit: "MB/s", Series: []Series{sweep("a", 4<<20, 1), sweep("b", 4<<20, 2), sweep("c", 4<<20, 3), sweep("d", 4<<20, 3), sweep("Open MPI over UCX", 4<<20, 5)}},
		"little of a span": &Curves{Unit: "us", Series: []Series{sweep("gorun", 2, 100)}},
		"one size":         &Curves{Unit: "us", Series: []Series{sweep("gorun", 1024, 100), {Name: "none"}}},
		"bars":             &Bars{Header: long, First: "gorun", Rows: []Ratio{{"latency 8 B", 1.1, 1.24, 1.3, "0.427 µs", "0.531 µs", "MPICH"}, {"rate", 0.7, 0.83, 1.1, "5.67 M/s", "6.86 M/s", "Open MPI"}}},
		"wide bars":        crowd,
		"a win alone":      &Bars{First: "gorun", Rows: []Ratio{{"latency", 2, 3, 4, "1 µs", "3 µs", "MPICH"}}},
		"a loss alone":     &Bars{First: "gorun", Rows: []Ratio{{"latency", 0.01, 0.02, 0.03, "1 µs", "3 µs", "MPICH"}}},
		"even":             &Bars{First: "gorun", Rows: []Ratio{{"latency", 1, 1, 1, "1 µs", "1 µs", "MPICH"}}},
	}
}

// TestTextsAreWhole checks that no text is cut, crosses the margins or overlaps another text.
func TestTextsAreWhole(t *testing.T) {
	for name, c := range charts() {
		p, err := c.draw()
		require.NoError(t, err, name)
		require.NotEmpty(t, p.texts, name)
		for i, a := range p.texts {
			require.True(t, a.box.Min.X >= margin/2 && a.box.Max.X <= width-margin/2 && a.box.Min.Y >= margin/2 && a.box.Max.Y <= p.height-margin/2,
				"%s: %q is cut off: %v of %v x %v", name, a.text, a.box, width, p.height)
			for _, b := range p.texts[:i] {
				apart := a.box.Min.X >= b.box.Max.X || b.box.Min.X >= a.box.Max.X || a.box.Min.Y >= b.box.Max.Y || b.box.Min.Y >= a.box.Max.Y
				require.True(t, apart, "%s: %q lies on %q", name, a.text, b.text)
			}
		}
	}
}

// TestNothingTouchesTheEdge checks that nothing is drawn at the edge of the picture.
func TestNothingTouchesTheEdge(t *testing.T) {
	for name, c := range charts() {
		img := render(t, c)
		b := img.Bounds()
		require.Equal(t, int(width)*2, b.Dx(), name)
		inside := b.Inset(int(margin) / 2)
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				if image.Pt(x, y).In(inside) {
					x = inside.Max.X
				}
				require.True(t, is(img, x, y, color.NRGBA{0xff, 0xff, 0xff, 0xff}), "%s: ink at %d,%d of %v", name, x, y, b)
			}
		}
	}
}

// render draws a chart, writes it as PNG and reads the PNG.
func render(t *testing.T, c drawing) image.Image {
	t.Helper()
	p, err := c.draw()
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, p.write(&file))
	require.Less(t, file.Len(), 400<<10, "too large for a page")
	img, err := png.Decode(&file)
	require.NoError(t, err)
	return img
}

// is reports whether a pixel has a color, apart from differences that a palette causes.
func is(img image.Image, x, y int, want color.NRGBA) bool { return like(img.At(x, y), want) }

// like reports whether two colors are the same, apart from differences that a palette causes.
func like(c color.Color, want color.NRGBA) bool {
	got := color.NRGBAModel.Convert(c).(color.NRGBA)
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= 8 }
	return near(got.R, want.R) && near(got.G, want.G) && near(got.B, want.B)
}

// pixels returns the number of pixels of a color.
func pixels(img image.Image, want color.NRGBA) int {
	n, picture := 0, img.(*image.Paletted)
	for _, index := range picture.Pix {
		if like(picture.Palette[index], want) {
			n++
		}
	}
	return n
}

// TestReduced checks that the palette contains the color of a filled area exactly, and that each
// other pixel gets the nearest color of the palette.
func TestReduced(t *testing.T) {
	from := image.NewRGBA(image.Rect(3, 5, 40, 45))
	for y := 5; y < 45; y++ {
		for x := 3; x < 40; x++ {
			from.Set(x, y, color.RGBA{uint8(6 * x), uint8(6 * (y - 5)), 0, 0xff}) // 1480 colors
		}
	}
	for x := 3; x < 40; x++ {
		from.Set(x, 20, blue)
	}
	to := reduced(from)
	require.Equal(t, from.Bounds(), to.Bounds())
	require.Len(t, to.Palette, 256)
	require.Equal(t, color.RGBAModel.Convert(blue), to.At(17, 20))
	for _, at := range []image.Point{{3, 5}, {39, 44}, {17, 30}} {
		require.Equal(t, to.Palette.Convert(from.At(at.X, at.Y)), to.At(at.X, at.Y))
	}
}

// TestColors checks that bars of ratios below 1 differ in color from bars above 1, and that no two curves
// have the same color.
func TestColors(t *testing.T) {
	for name, c := range map[string]struct{ wins, losses bool }{
		"bars": {true, true}, "a win alone": {true, false}, "a loss alone": {false, true}, "even": {false, false},
	} {
		img := render(t, charts()[name])
		require.Equal(t, c.wins, pixels(img, blue) > 100, name)
		require.Equal(t, c.losses, pixels(img, vermillion) > 100, name)
	}
	img := render(t, charts()["curves"])
	for _, l := range looks[:3] {
		require.Greater(t, pixels(img, l.color), 200)
	}
}

// TestLengthOfBars checks that a bar begins at the line of ratio 1 and ends at its ratio on a
// logarithmic scale. For example, the bar of ratio 4 is twice as long as the bar of ratio 2.
func TestLengthOfBars(t *testing.T) {
	b := &Bars{First: "gorun", Rows: []Ratio{{"a", 2, 2, 2, "1", "2", "x"}, {"b", 4, 4, 4, "1", "4", "x"}}}
	p, err := b.draw()
	require.NoError(t, err)
	c := b.columns()
	axis := b.axis(&c)
	for i, end := range []float64{2, 4} {
		y := b.below() + rowHeight + lineGap + (vg.Length(i)+0.5)*barRow + barHeight/4 // below the whisker
		for part, inside := range map[float64]bool{0.9: false, 1.1: true, end * 0.95: true, end * 1.05: false} {
			x := int(2 * axis.place(part))
			require.Equal(t, inside, is(p.image.Image(), x, int(2*y), blue), "%g in the bar of %g", part, end)
		}
	}
}

// TestBands checks that the band of a curve reaches from the lowest to the highest value.
func TestBands(t *testing.T) {
	c := &Curves{Unit: "us", Series: []Series{{Name: "gorun", Points: []Point{{1, 1, 10, 100}, {4096, 1, 10, 100}}}}}
	p, err := c.draw()
	require.NoError(t, err)
	img := p.image.Image()
	// The expected colors, on a vertical line halfway through the plot from its top, are: white, the band,
	// the curve, the band, white.
	top := int(2 * (c.below() + lineGap))
	var tinted int
	for y := top; y < top+int(2*plotHeight); y++ {
		got := color.NRGBAModel.Convert(img.At(int(width)+37, y)).(color.NRGBA)
		if int(got.B) > int(got.R)+20 {
			tinted++
		}
	}
	_, y, ok := c.scales()
	require.True(t, ok)
	y.from, y.to = 2*plotHeight, 0
	require.InDelta(t, float64(y.place(1)-y.place(100)), float64(tinted), 4)
}

func TestNothingToDraw(t *testing.T) {
	for _, c := range []drawing{
		&Bars{First: "gorun"},
		&Curves{Unit: "us"},
		&Curves{Unit: "us", Series: []Series{sweep("a single size", 1, 1)}},
		&Curves{Unit: "us", Series: []Series{{Name: "no logarithm", Points: []Point{{1, 0, 0, 0}, {2, 1, 1, 1}}}}},
	} {
		_, err := c.draw()
		require.ErrorIs(t, err, ErrEmpty)
	}
	require.ErrorIs(t, (&Curves{}).WritePNG(nil), ErrEmpty)
	require.ErrorIs(t, (&Bars{}).WritePNG(nil), ErrEmpty)
}

package chart

import (
	"image/color"
	"image/png"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	width  vg.Length = 850
	margin vg.Length = 14
	// dpi is two pixels per point.
	dpi = 144

	titleSize vg.Length = 17
	textSize  vg.Length = 13
	noteSize  vg.Length = 12
	lineGap   vg.Length = 5
	// lift is the fraction of its size by which a text is raised. Without it, the box of the text, which has
	// room for accents, would be centered instead of the capital letters.
	lift = 0.1
)

// The colours of Okabe and Ito (Color Universal Design, 2008), which are distinguishable for the
// colour-blind, and grays.
var (
	blue       = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	vermillion = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green      = color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	purple     = color.NRGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	yellow     = color.NRGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}

	ink  = color.NRGBA{R: 0x1f, G: 0x23, B: 0x28, A: 0xff}
	gray = color.NRGBA{R: 0x59, G: 0x63, B: 0x6e, A: 0xff}
	rule = color.NRGBA{R: 0xd8, G: 0xdc, B: 0xe0, A: 0xff}
)

// Header is the text above a chart.
type Header struct {
	Title string
	Notes []string // paragraphs below the title, in small letters
}

// picture is a canvas with its origin at the top left, and the positions of all texts on it.
type picture struct {
	draw.Canvas
	image  *vgimg.Canvas
	height vg.Length
	texts  []label
}

// label is a text that was drawn, and the rectangle that it occupies.
type label struct {
	text string
	box  vg.Rectangle
}

func newPicture(height vg.Length) *picture {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(color.White))
	return &picture{Canvas: draw.New(c), image: c, height: height}
}

// write writes the picture as PNG. The palette makes the file three times smaller.
func (p *picture) write(w io.Writer) error {
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return encoder.Encode(w, reduced(p.image.Image()))
}

// at returns a point of the picture. y counts downwards from the top.
func (p *picture) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.height - y} }

// line draws a line through points of the picture.
func (p *picture) line(c color.Color, thick vg.Length, points ...vg.Point) {
	p.StrokeLines(draw.LineStyle{Color: c, Width: thick}, points)
}

// rectangle fills a rectangle between two corners.
func (p *picture) rectangle(c color.Color, left, top, right, bottom vg.Length) {
	p.FillPolygon(c, []vg.Point{p.at(left, top), p.at(right, top), p.at(right, bottom), p.at(left, bottom)})
}

// text draws a text. y is the middle of its capital letters. align defines whether x is the left
// end, the center or the right end.
func (p *picture) text(s draw.TextStyle, align text.XAlignment, x, y vg.Length, t string) {
	if t == "" {
		return
	}
	s.XAlign, s.YAlign = align, text.YCenter
	p.FillText(s, p.at(x, y-lift*s.Font.Size), t)
	w, half := s.Width(t), s.Font.Size/2
	left := x + vg.Length(align)*w
	p.texts = append(p.texts, label{t, vg.Rectangle{Min: vg.Point{X: left, Y: y - half}, Max: vg.Point{X: left + w, Y: y + half}}})
}

// header draws a title and its notes.
func (p *picture) header(h *Header) {
	y := margin + titleSize/2
	p.text(title, text.XLeft, margin, y, h.Title)
	y += titleSize/2 + lineGap
	for _, l := range h.lines() {
		p.text(note, text.XLeft, margin, y+noteSize/2, l)
		y += noteSize + lineGap
	}
}

// below returns the y coordinate of the first line below a header.
func (h *Header) below() vg.Length {
	return margin + titleSize + lineGap + vg.Length(len(h.lines()))*(noteSize+lineGap) + lineGap
}

// lines breaks the notes into lines that fit the width of the picture.
func (h *Header) lines() []string {
	var all []string
	for _, n := range h.Notes {
		line := ""
		for _, word := range strings.Fields(n) {
			longer := strings.TrimSpace(line + " " + word)
			if line != "" && note.Width(longer) > width-2*margin {
				all = append(all, line)
				longer = word
			}
			line = longer
		}
		all = append(all, line)
	}
	return all
}

// fonts contains fonts that are compiled into the program, so that a picture is the same on every machine.
var fonts = font.NewCache(liberation.Collection())

// Styles of the texts.
var (
	title = style("LiberationSans-Bold", titleSize, ink)
	plain = style("LiberationSans-Regular", textSize, ink)
	bold  = style("LiberationSans-Bold", textSize, ink)
	note  = style("LiberationSans-Regular", noteSize, gray)
)

// style returns the style of a font of the collection.
func style(name string, size vg.Length, c color.Color) draw.TextStyle {
	s := draw.TextStyle{Color: c, Handler: text.Plain{Fonts: fonts}}
	for _, f := range liberation.Collection() {
		if f.Name() == name {
			s.Font = f.Font
		}
	}
	s.Font.Size = size
	return s
}

// widest returns the width of the widest of the texts.
func widest(s *draw.TextStyle, texts ...string) vg.Length {
	w := vg.Length(0)
	for _, t := range texts {
		w = max(w, s.Width(t))
	}
	return w
}

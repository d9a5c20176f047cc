package chart

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
)

// colorsMax is the maximum number of colors of a palette.
const colorsMax = 256

// reduced returns a copy of a picture with only the colorsMax most frequent colors of the picture. It
// replaces every other color by the nearest of the kept colors. The replaced colors occur at the edges of
// letters.
func reduced(from image.Image) *image.Paletted {
	bounds, often := from.Bounds(), map[color.RGBA]int{}
	pixels := image.NewRGBA(bounds)
	draw.Draw(pixels, bounds, from, bounds.Min, draw.Src)
	each := func(visit func(x, y int, c color.RGBA)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				visit(x, y, pixels.RGBAAt(x, y))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { often[c]++ })
	colors := slices.SortedFunc(maps.Keys(often), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(often[b], often[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := make(color.Palette, 0, colorsMax)
	for _, c := range colors[:min(len(colors), colorsMax)] {
		palette = append(palette, c)
	}
	index := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		index[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(bounds, palette)
	each(func(x, y int, c color.RGBA) { to.SetColorIndex(x, y, index[c]) })
	return to
}

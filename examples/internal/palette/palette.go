// Package palette has the colours in which the examples draw.
package palette

import (
	"image/color"
	"math"
)

// Glow returns n colours from nearly black through purple, red and yellow to white, like the colours of a heated
// body. The perceived lightness increases by the same step from each colour to the next, so that a picture
// shows only edges that the data have.
//
// The colour space is Oklab (Ottosson, "A perceptual color space for image processing", 2020).
func Glow(n int) color.Palette {
	const (
		darkest        = 0.12                                     // a screen shows darker colours as black
		purple, yellow = -60 * math.Pi / 180, 105 * math.Pi / 180 // as angles
		most           = 0.17                                     // a chroma that a screen can show from purple to yellow
		later          = 1.15                                     // an exponent that puts the highest chroma beyond the middle
	)
	all := make(color.Palette, n)
	for i := range all {
		part := float64(i) / float64(max(1, n-1))
		sin, cos := math.Sincos(purple + part*(yellow-purple))
		chroma := most * math.Sin(math.Pi*math.Pow(part, later))
		r, g, b := light(darkest+part*(1-darkest), chroma*cos, chroma*sin)
		all[i] = color.RGBA{R: encoded(r), G: encoded(g), B: encoded(b), A: 0xff}
	}
	return all
}

// light converts a colour from Oklab to linear sRGB. The results are from 0 to 1 if a screen
// can show the colour.
func light(lightness, a, b float64) (red, green, blue float64) {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.2914855480*b)
	return 4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s
}

// encoded converts a component of linear sRGB to its 8-bit value in sRGB (IEC 61966-2-1).
func encoded(light float64) uint8 {
	light = min(1, max(0, light)) // a rounding error may make it less than 0 or more than 1
	if light <= 0.0031308 {
		return uint8(math.Round(255 * 12.92 * light))
	}
	return uint8(math.Round(255 * (1.055*math.Pow(light, 1/2.4) - 0.055)))
}

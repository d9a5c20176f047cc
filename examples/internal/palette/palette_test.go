package palette_test

import (
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/palette"
)

// lightness returns L* of CIE 1976, from 0 to 100. This measure of perceived lightness is not the one with
// which the palette is made.
func lightness(c color.Color) float64 {
	light := func(v uint8) float64 {
		if v <= 10 {
			return float64(v) / 255 / 12.92
		}
		return math.Pow((float64(v)/255+0.055)/1.055, 2.4)
	}
	rgb := color.RGBAModel.Convert(c).(color.RGBA)
	y := 0.2126*light(rgb.R) + 0.7152*light(rgb.G) + 0.0722*light(rgb.B)
	if y <= 216./24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}

// TestGlowHasEvenSteps checks that each colour is lighter than the colour eight places before it, and that these
// differences of lightness are similar.
func TestGlowHasEvenSteps(t *testing.T) {
	glow := palette.Glow(256)
	require.Len(t, glow, 256)
	require.Less(t, lightness(glow[0]), 3.)
	require.Equal(t, color.RGBA{255, 255, 255, 255}, glow[255])
	// step is the distance between two compared colours in the palette. The test does not compare adjacent
	// colours, because their difference consists mostly of rounding errors.
	const step = 8
	for i := step; i < len(glow); i++ {
		grown := lightness(glow[i]) - lightness(glow[i-step])
		require.Greater(t, grown, 0.2*100*step/255, "from %v to %v", glow[i-step], glow[i])
		require.Less(t, grown, 1.8*100*step/255, "from %v to %v", glow[i-step], glow[i])
	}
}

// TestGlowIsColourful checks the colours between black and white: purple, red, yellow.
func TestGlowIsColourful(t *testing.T) {
	glow := palette.Glow(9)
	for i, is := range map[int]func(c color.RGBA) bool{
		2: func(c color.RGBA) bool { return c.R > c.B && c.B > 2*c.G },
		4: func(c color.RGBA) bool { return c.R > 2*c.B && c.R > 2*c.G },
		7: func(c color.RGBA) bool { return c.R > c.G && int(c.G) > int(c.B)+40 },
	} {
		require.True(t, is(glow[i].(color.RGBA)), "%d: %v", i, glow[i])
	}
	require.Len(t, palette.Glow(1), 1)
}

package main_test

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// draw runs the example. It returns the output and the picture of the example.
func draw(t *testing.T, np int, flags []string, args ...string) (string, image.Image) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "set.png")
	out := launch.ExampleWith(t, np, flags, append([]string{"-width", "150", "-height", "100", "-out", name}, args...)...)
	require.Contains(t, out, "the picture goes to "+name+"\n")
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return out, img
}

// TestPictureIsColoured checks that two points of the set are nearly black, that a point far from the set is dark,
// that other points are much brighter, and that the picture has many colours.
func TestPictureIsColoured(t *testing.T) {
	_, img := draw(t, 2, nil)
	at := func(re, im float64) color.RGBA {
		x, y := int((re+2.5)/3.5*150), int((im+1.2)/2.4*100)
		return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
	}
	light := func(c color.RGBA) int { return int(c.R) + int(c.G) + int(c.B) }
	inside, far := at(-0.1, 0), at(-2.4, 1.1)
	require.Less(t, light(inside), 20)
	require.Equal(t, inside, at(-1, 0))
	require.NotEqual(t, inside, far)
	require.Less(t, light(far), 250)
	seen, brightest := map[color.RGBA]bool{}, 0
	for y := range 100 {
		for x := range 150 {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			seen[c], brightest = true, max(brightest, light(c))
		}
	}
	require.Greater(t, brightest, light(far)+150)
	require.Greater(t, len(seen), 50)
}

// TestMandelbrot checks that the picture does not depend on the number of ranks or on the death of a
// rank.
func TestMandelbrot(t *testing.T) {
	_, want := draw(t, 1, nil)
	for _, transport := range []string{"shm", "rdma"} {
		out, got := draw(t, 4, []string{"-transport", transport})
		require.Equal(t, want, got)
		require.Contains(t, out, "[####################] 100 of 100 lines\n")
		out, got = draw(t, 4, []string{"-transport", transport, "-on-failure", "continue"}, "-crash", "2")
		require.Equal(t, want, got)
		require.Contains(t, out, "rank:2 is lost, 3 workers go on\n")
	}
	_, errors := launch.ExampleEnds(t, 1, 2, nil, "-crash", "2")
	require.Contains(t, errors, "-crash 2: there are ranks 0 to 1\n")
	_, errors = launch.ExampleEnds(t, 2, 2, nil, "-crash", "0")
	require.Contains(t, errors, `invalid value "0" for flag -crash: it must be at least 1`)
}

// TestLargePicturesAreRefused checks that a picture that is too large for memory is refused
// before any memory is allocated for it, with one error for all ranks.
func TestLargePicturesAreRefused(t *testing.T) {
	out, errors := launch.ExampleEnds(t, 1, 4, []string{"-on-failure", "continue"}, "-width", "1000000000000", "-height", "1000000000000")
	require.Empty(t, out)
	text := "-width 1000000000000 -height 1000000000000: a picture has at most 268435456 pixels\n"
	shown, _, _ := strings.Cut(errors, "first failure")
	require.Equal(t, 1, strings.Count(shown, text), errors)
	require.Contains(t, shown, "3 more ranks, ")
}

// TestPictureHasAPlaceFirst checks that nothing is computed if the picture cannot be written.
func TestPictureHasAPlaceFirst(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{filepath.Join(dir, "no", "such.png"), dir} {
		out, errors := launch.ExampleEnds(t, 1, 2, nil, "-out", name)
		require.NotContains(t, out, "lines")
		require.Contains(t, errors, "-out: open "+name+": ")
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

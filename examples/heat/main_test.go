package main_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/palette"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

const (
	steps = 60
	every = 20
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestHeat compares lines and frames of several grids of ranks with those of one loop over the whole plate. They
// must be equal, because for every grid the iteration adds the same four numbers in the same order for each cell.
func TestHeat(t *testing.T) {
	lines, frames := reference(t)
	for _, np := range []int{1, 2, 3, 4, 6, 9} {
		t.Run(fmt.Sprintf("%d ranks", np), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "frames")
			out := launch.Example(t, np, "-steps", fmt.Sprint(steps), "-every", fmt.Sprint(every), "-out", dir)
			require.Equal(t, append([]string{"frames go to " + dir}, lines...), strings.Split(strings.TrimSpace(out), "\n"))
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, len(frames)+1)
			for i, frame := range frames {
				name := fmt.Sprintf("heat-%06d.png", (i+1)*every)
				require.Equal(t, name, entries[i].Name())
				requireFrame(t, frame, decode(t, filepath.Join(dir, name)), 256)
			}
			require.Equal(t, "heat.gif", entries[len(frames)].Name())
			requireFilm(t, frames, filepath.Join(dir, "heat.gif"))
		})
	}
}

// TestFramesHaveAPlaceFirst checks that the program writes no files without -out. It also checks that the
// program computes nothing if the directory of -out cannot be made.
func TestFramesHaveAPlaceFirst(t *testing.T) {
	before, err := os.ReadDir(".")
	require.NoError(t, err)
	out := launch.Example(t, 2, "-steps", "1")
	require.NotContains(t, out, "frames")
	after, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Equal(t, len(before), len(after))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	out, errors := launch.ExampleEnds(t, 1, 2, nil, "-steps", "1", "-out", file)
	require.NotContains(t, out, "step")
	require.Contains(t, errors, "-out: mkdir "+file+": not a directory")
}

// TestPlateSmallerThanTheGrid checks that a plate with fewer columns of pixels than the grid has columns of ranks is
// refused.
func TestPlateSmallerThanTheGrid(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))))
	plate := filepath.Join(t.TempDir(), "plate.png")
	require.NoError(t, os.WriteFile(plate, picture.Bytes(), 0o644))
	require.Contains(t, launch.Example(t, 4, "-plate", plate, "-steps", "1"), "step 1 of 1")
	_, errors := launch.ExampleEnds(t, 1, 7, nil, "-plate", plate, "-steps", "1")
	require.Contains(t, errors, "-plate: 4 by 4 pixels are too few for a grid of 7 by 1 ranks")
}

// requireFrame compares a picture that has a number of colours with temperatures.
func requireFrame(t *testing.T, want [][]float64, img image.Image, colours int) {
	t.Helper()
	glow, levels := palette.Glow(colours), float64(colours-1)
	require.Equal(t, image.Rect(0, 0, len(want[0]), len(want)), img.Bounds())
	for y, row := range want {
		for x, temperature := range row {
			of256 := math.Round(temperature * 255) // one of 256 shades; the picture may have fewer colours
			if is := color.RGBAModel.Convert(img.At(x, y)); is != glow[int(math.Floor(of256*levels/255+0.499))] {
				require.Equal(t, glow[int(math.Round(of256*levels/255))], is, "pixel %d,%d of %v", x, y, temperature)
			}
		}
	}
}

// requireFilm checks that an animation begins with the plate and contains all frames.
func requireFilm(t *testing.T, frames [][][]float64, name string) {
	t.Helper()
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	require.LessOrEqual(t, len(file), 1<<20)
	film, err := gif.DecodeAll(bytes.NewReader(file))
	require.NoError(t, err)
	require.Len(t, film.Image, len(frames)+1)
	requireFrame(t, temperatures(decode(t, "heat.png")), film.Image[0], 48)
	for i, frame := range frames {
		requireFrame(t, frame, film.Image[i+1], 48)
	}
	require.Zero(t, film.LoopCount, "for ever")
	require.Greater(t, film.Delay[len(frames)], film.Delay[0], "the last one stays")
}

// TestFilmOfManyFrames checks that the animation of a run with 101 frames has fewer than 42 frames, and ends with
// the last frame of the run.
func TestFilmOfManyFrames(t *testing.T) {
	dir := t.TempDir()
	launch.Example(t, 1, "-steps", "101", "-every", "1", "-out", dir)
	file, err := os.ReadFile(filepath.Join(dir, "heat.gif"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(file), 1<<20)
	film, err := gif.DecodeAll(bytes.NewReader(file))
	require.NoError(t, err)
	require.Greater(t, len(film.Image), 10)
	require.Less(t, len(film.Image), 42)
	last := decode(t, filepath.Join(dir, "heat-000101.png")).(*image.Paletted)
	glow := palette.Glow(48)
	for i, shade := range last.Pix {
		want, got := glow[(int(shade)*47+127)/255], film.Image[len(film.Image)-1].Palette[film.Image[len(film.Image)-1].Pix[i]]
		if want != got {
			require.Equal(t, want, got, i)
		}
	}
}

// reference returns the lines of progress and the frames of the sequential computation.
func reference(t *testing.T) (lines []string, frames [][][]float64) {
	t.Helper()
	plate := temperatures(decode(t, "heat.png"))
	width, height := len(plate[0]), len(plate)
	held := func(x, y int) bool {
		return plate[y][x] == 1 || x == 0 || y == 0 || x == width-1 || y == height-1
	}
	for step := 1; step <= steps; step++ {
		next, residual := make([][]float64, height), 0.0
		for y := range plate {
			next[y] = append([]float64(nil), plate[y]...)
			for x := range width {
				if !held(x, y) {
					next[y][x] = 0.25 * ((plate[y-1][x] + plate[y+1][x]) + (plate[y][x-1] + plate[y][x+1]))
					residual = math.Max(residual, math.Abs(next[y][x]-plate[y][x]))
				}
			}
		}
		plate = next
		if step%every == 0 {
			lines = append(lines, fmt.Sprintf("[%-20s] step %d of %d, residual %.3e",
				strings.Repeat("#", 20*step/steps), step, steps, residual))
			frames = append(frames, plate)
		}
	}
	return lines, frames
}

// temperatures returns the temperatures that a gray picture shows.
func temperatures(img image.Image) [][]float64 {
	plate := make([][]float64, img.Bounds().Dy())
	for y := range plate {
		for x := range img.Bounds().Dx() {
			gray := color.GrayModel.Convert(img.At(x, y)).(color.Gray)
			plate[y] = append(plate[y], float64(gray.Y)/255)
		}
	}
	return plate
}

func decode(t *testing.T, name string) image.Image {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return img
}

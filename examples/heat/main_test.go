package main_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/launch"
)

const (
	steps = 60
	every = 20
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestHeat compares lines and frames of several grids of ranks with one loop
// over the whole plate. They are equal to the last bit: the iteration adds the
// same four numbers in the same order wherever a cell lies.
func TestHeat(t *testing.T) {
	lines, frames := reference(t)
	for _, np := range []int{1, 2, 3, 4, 6, 9} {
		t.Run(fmt.Sprintf("%d ranks", np), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "frames")
			out := launch.Run(t, np, "-steps", fmt.Sprint(steps), "-every", fmt.Sprint(every), "-out", dir)
			require.Equal(t, append([]string{"frames go to " + dir}, lines...), strings.Split(strings.TrimSpace(out), "\n"))
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, len(frames))
			for i, entry := range entries {
				require.Equal(t, fmt.Sprintf("heat-%06d.png", (i+1)*every), entry.Name())
				requireFrame(t, frames[i], filepath.Join(dir, entry.Name()))
			}
		})
	}
}

// Without a directory nothing is written, and with one that cannot be nothing is
// computed.
func TestFramesHaveAPlaceFirst(t *testing.T) {
	before, err := os.ReadDir(".")
	require.NoError(t, err)
	out := launch.Run(t, 2, "-steps", "1")
	require.NotContains(t, out, "frames")
	after, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Equal(t, len(before), len(after))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	out, errors := launch.RunBoth(t, 1, 2, nil, "-steps", "1", "-out", file)
	require.NotContains(t, out, "step")
	require.Contains(t, errors, "-out: mkdir "+file+": not a directory")
}

// requireFrame compares a file with temperatures.
func requireFrame(t *testing.T, want [][]float64, name string) {
	t.Helper()
	img := decode(t, name)
	require.Equal(t, image.Rect(0, 0, len(want[0]), len(want)), img.Bounds())
	for y, row := range want {
		for x, temperature := range row {
			level := func(from float64) uint8 { return uint8(255 * math.Min(1, math.Max(0, 3*temperature-from))) }
			got := color.RGBAModel.Convert(img.At(x, y))
			require.Equal(t, color.RGBA{level(0), level(1), level(2), 255}, got, "pixel %d,%d", x, y)
		}
	}
}

// reference is the sequential computation: its lines of progress and frames.
func reference(t *testing.T) (lines []string, frames [][][]float64) {
	t.Helper()
	img := decode(t, "heat.png")
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	plate := make([][]float64, height)
	for y := range plate {
		for x := range width {
			gray := color.GrayModel.Convert(img.At(x, y)).(color.Gray)
			plate[y] = append(plate[y], float64(gray.Y)/255)
		}
	}
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

func decode(t *testing.T, name string) image.Image {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	return img
}

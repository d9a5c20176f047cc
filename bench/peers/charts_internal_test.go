package main

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// decodePicture reads a picture from a file.
func decodePicture(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}

// TestStoredPictures checks that the stored pictures show the stored results. It fails if somebody changes
// the results and does not draw the pictures again. A small difference is allowed, because floating-point
// results differ between processors, and with them the pixels at the edges of letters.
func TestStoredPictures(t *testing.T) {
	const results = "../results"
	samples, err := filepath.Glob(filepath.Join(results, "*.json"))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range samples {
		require.Contains(t, partNames(true), fileName(name), "nothing draws it")
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644))
	}
	require.NoError(t, drawStored(&options{part: partNames(false), out: dir}))
	drawn, err := filepath.Glob(filepath.Join(dir, "*.png"))
	require.NoError(t, err)
	kept, err := filepath.Glob(filepath.Join(results, "*.png"))
	require.NoError(t, err)
	require.Len(t, kept, len(drawn), "go -C bench/peers run . -draw")
	for _, name := range drawn {
		want, got := decodePicture(t, name), decodePicture(t, filepath.Join(results, filepath.Base(name)))
		require.Equal(t, want.Bounds(), got.Bounds(), "%s: go -C bench/peers run . -draw", filepath.Base(name))
		require.Less(t, differing(want, got), 0.001, "%s: go -C bench/peers run . -draw", filepath.Base(name))
	}
}

// fileName returns the name of a file without its directory and extension.
func fileName(name string) string {
	base := filepath.Base(name)
	return base[:len(base)-len(filepath.Ext(base))]
}

// differing returns the fraction of the pixels that differ between two pictures.
func differing(a, b image.Image) float64 {
	const rounding = 0x1800
	bounds, n := a.Bounds(), 0
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			ar, ag, ab, _ := a.At(x, y).RGBA()
			br, bg, bb, _ := b.At(x, y).RGBA()
			if max(ar, br)-min(ar, br) > rounding || max(ag, bg)-min(ag, bg) > rounding || max(ab, bb)-min(ab, bb) > rounding {
				n++
			}
		}
	}
	return float64(n) / float64(bounds.Dx()*bounds.Dy())
}

func TestNothingIsStored(t *testing.T) {
	err := drawStored(&options{part: []string{"rdma", "curves"}, out: t.TempDir()})
	require.ErrorContains(t, err, "no results of rdma, curves")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rdma.json"), []byte("{"), 0o644))
	require.ErrorContains(t, drawStored(&options{part: []string{"rdma"}, out: dir}), "rdma.json: unexpected end")
}

// TestBar checks the bar in the chart for a row of the table. The bar says how many times better gorun is.
// The test has rows in which smaller values are better and rows in which larger values are better. The bar
// also gives the extremes of the rounds, the two values, and the compared system.
func TestBar(t *testing.T) {
	c := &comparison{plan: plan{name: "part"}, systems: systems("", false), result: newResult(3)}
	for round, v := range []float64{2, 4, 8} {
		for system, factor := range map[string][3]float64{gorun: {1, 1, 1}, openMPI: {2, 2, 4}, mpich: {3, 3, 3}} {
			c.result.add("m", system, map[int]float64{8: v * factor[round]})
			c.result.add("n", system, map[int]float64{8: factor[round]})
		}
		c.result.add("raw", gorun, map[int]float64{8: 1})
	}
	c.measurements = []measurement{{key: "m"}, {key: "n"}, {key: "raw", program: rawTCP}}
	for _, tc := range []struct {
		row  row
		want chart.Ratio
	}{
		{
			row{name: "part latency", unit: "us", measurement: "m", size: 8, against: better, bar: 1},
			chart.Ratio{Name: "latency", Low: 2, Median: 2, High: 4, First: "4.00 µs", Other: "8.00 µs", Than: "Open MPI"},
		},
		{
			row{name: "rate (MPICH)", unit: "1/s", measurement: "n", size: 8, against: mpich, higher: true, free: true},
			chart.Ratio{Name: "rate", Low: 1. / 3, Median: 1. / 3, High: 1. / 3, First: "1.00 /s", Other: "3.00 /s", Than: "MPICH"},
		},
		{
			row{name: "rate", measurement: "n", theirs: "m", size: 8, against: better, higher: true, bar: 1},
			chart.Ratio{Name: "rate", Low: 1. / 24, Median: 1. / 12, High: 1. / 6, First: "1.00", Other: "12.0", Than: "MPICH"},
		},
	} {
		got, ok := c.bar(&tc.row)
		require.True(t, ok, tc.row.name)
		require.InDeltaSlice(t, []float64{tc.want.Low, tc.want.Median, tc.want.High}, []float64{got.Low, got.Median, got.High}, 1e-12, tc.row.name)
		got.Low, got.Median, got.High = tc.want.Low, tc.want.Median, tc.want.High
		require.Equal(t, tc.want, got)
	}
	for _, r := range []row{
		{measurement: "m", size: 8, against: absolute, bar: 1},
		{measurement: "m", size: 8, against: "n", bar: 1},
		{measurement: "m", size: 9, against: better, bar: 1},
		{measurement: "raw", theirs: "m", size: 8, against: better, free: true},
	} {
		_, ok := c.bar(&r)
		require.False(t, ok, "%+v compares gorun with no peer", r)
	}
}

func TestShortVersion(t *testing.T) {
	for version, want := range map[string]string{
		"mpirun (Open MPI) 4.1.4": "4.1.4", "Version: 4.0.2": "4.0.2", "v1.2.3": "1.2.3", "go1.26.8": "",
		"v0.0.0-20240822202345-3c0e61ca19c9": "2024-08-22", "": "",
	} {
		require.Equal(t, want, shortVersion(version), version)
	}
}

// TestNotes checks the notes below a title. The notes of a single round say so and omit the note on the
// spread. The notes of a quick run say that its figures mean nothing.
func TestNotes(t *testing.T) {
	c := &comparison{rounds: 3, result: newResult(3)}
	c.result.Machine = machine{CPU: "a processor", Processors: 2, Kernel: "6.1", Go: "go1 amd64", Commit: "abc"}
	c.result.Systems = []info{
		{Name: gorun, Title: "gorun", Version: "gorun (devel) go1.26"},
		{Name: openMPI, Title: "Open MPI", Version: "mpirun (Open MPI) 4.1.4"},
		{Name: mpich, Title: "MPICH", Missing: "MPICH: not installed"},
	}
	require.Equal(t, []string{
		"Medians of 3 rounds, in which the systems took turns. Spread.",
		"a processor, 2 processors, Linux 6.1, go1 amd64, gorun abc, Open MPI 4.1.4.",
	}, c.notes("Spread."))
	c.rounds = 1
	require.Equal(t, "One round. ", c.notes("Spread.")[0])
	c.quick = true
	require.Contains(t, c.notes("Spread.")[0], "mean nothing")
}

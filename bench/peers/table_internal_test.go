package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTable(t *testing.T) {
	values, err := parseTable("# gorun latency\n# Size   Latency (us)\n8     0.123\n1024  1.500   7\n\nsome words\n4 x\n")
	require.NoError(t, err)
	require.Equal(t, map[int]float64{8: 0.123, 1024: 1.5}, values)
	_, err = parseTable("# Size Latency\n")
	require.ErrorContains(t, err, "no table")
	_, err = parseTable("8 1\n8 2\n")
	require.ErrorContains(t, err, "twice")
}

func TestParseNamed(t *testing.T) {
	values, err := parseNamed("a line       1.250 us\nanother 2 B   -3.000 M/s\nno unit      0.010 \nsome words\na 1 us\n")
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"a line": 1.25, "another 2 B": -3, "no unit": 0.01}, values)
	_, err = parseNamed("words\n")
	require.ErrorContains(t, err, "no lines")
	_, err = parseNamed("ab 1.0 us\nab 2.0 us\n")
	require.ErrorContains(t, err, "twice")
}

func TestMedian(t *testing.T) {
	r := newResult(1)
	_, ok := r.median("m", gorun, 8)
	require.False(t, ok)
	for _, tc := range []struct{ add, want float64 }{{3, 3}, {1, 2}, {9, 3}, {2, 2.5}} {
		r.add("m", gorun, map[int]float64{8: tc.add})
		got, ok := r.median("m", gorun, 8)
		require.True(t, ok)
		require.Equal(t, tc.want, got)
	}
}

// fabricated returns a comparison with made-up figures.
func fabricated() *comparison {
	c := &comparison{plan: plan{name: "peers", title: "Ratios"}, systems: systems("", true), result: newResult(1)}
	figures := map[string]map[string]map[int]float64{
		"latency":   {gorun: {8: 2, 64: 30}, openMPI: {8: 4, 64: 20}, mpich: {8: 3, 64: 25}, "mpich-ucx": {8: 1, 64: 1}},
		"bandwidth": {gorun: {64: 12, 8: 1}, openMPI: {64: 9, 8: 2}, mpich: {64: 10, 8: 2}},
		"other":     {gorun: {8: 5}},
	}
	for key, bySystem := range figures {
		for system, values := range bySystem {
			c.result.add(key, system, values)
		}
	}
	return c
}

func TestLine(t *testing.T) {
	c := fabricated()
	for _, tc := range []struct {
		row     row
		ratio   float64
		verdict string
	}{
		{row{measurement: "latency", size: 8, against: better, bar: 1, aim: 0.7}, 2. / 3, attained},
		{row{measurement: "latency", size: 8, against: better, bar: 1, aim: 0.5}, 2. / 3, passed},
		{row{measurement: "latency", size: 64, against: better, bar: 1, aim: 0.7}, 1.5, missed},
		{row{measurement: "latency", size: 64, against: mpich, bar: 1.2}, 1.2, passed},
		{row{measurement: "latency", size: 64, against: openMPI, bar: 1, free: true}, 1.5, shown},
		{row{measurement: "bandwidth", size: 64, against: better, higher: true, bar: 1, aim: 1.3}, 1.2, passed},
		{row{measurement: "bandwidth", size: 8, against: better, higher: true, bar: 1, aim: 1.3}, 0.5, missed},
		{row{measurement: "other", theirs: "latency", size: 8, against: better, bar: 1}, 5. / 3, missed},
		{row{measurement: "other", size: 8, against: "latency", bar: 3}, 2.5, passed},
		{row{measurement: "other", size: 8, against: absolute, bar: 5}, 5, passed},
		{row{measurement: "other", size: 8, against: absolute, bar: 4}, 5, missed},
		{row{measurement: "other", size: 8, against: better, bar: 1}, 0, unknown},
		{row{measurement: "nothing", size: 8, against: absolute, bar: 1}, 0, unknown},
	} {
		l := c.line(&tc.row)
		require.InDelta(t, tc.ratio, l.Ratio, 1e-12, "%+v", tc.row)
		require.Equal(t, tc.verdict, l.Verdict, "%+v", tc.row)
	}
}

// TestProblems checks that the report lists missing systems and failed measurements.
func TestProblems(t *testing.T) {
	c := fabricated()
	c.measurements = []measurement{{key: "latency"}}
	c.result.Systems = []info{{Name: mpich, Missing: "MPICH: not installed"}}
	c.result.fail("latency", openMPI, errors.New("hangs\nwith details"))
	require.Equal(t, "* MPICH: not installed\n* latency, Open MPI: hangs\n", c.problems())
	require.False(t, c.due(&c.measurements[0], &c.systems[1], 1), "what hung is not waited for again")
	require.True(t, c.due(&c.measurements[0], &c.systems[0], 1))
}

func TestReportWritesEverything(t *testing.T) {
	c := fabricated()
	c.curves = curvePlan().curves
	for size := 1; size <= 1<<22; size *= 4 {
		c.result.add("latency of short messages", gorun, map[int]float64{size: 0.1 + float64(size)/1e4})
		c.result.add("latency of short messages", openMPI, map[int]float64{size: 0.2 + float64(size)/1e4})
	}
	c.result.add("latency of short messages", openMPI, map[int]float64{16: 0.4})
	c.result.add("latency of long messages", openMPI, map[int]float64{1 << 23: 1000})
	c.rows = []row{
		{name: "latency 8 B", unit: "us", measurement: "latency", size: 8, against: better, bar: 1, aim: 0.7},
		{name: "bandwidth 64 B", unit: "MB/s", measurement: "bandwidth", size: 64, against: better, higher: true, bar: 1, aim: 1.3},
	}
	out := filepath.Join(t.TempDir(), "results")
	require.NoError(t, c.report(out))

	text, err := os.ReadFile(filepath.Join(out, "peers.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "| latency 8 B | us | 2 | 4 | 3 | - | 1 | better | 0.667 | <= 1 | 0.7 | aim |\n")
	require.Contains(t, string(text), "| bandwidth 64 B | MB/s | 12 | 9 | 10 | - | - | better | 1.2 | >= 1 | 1.3 | pass |\n")
	require.Contains(t, string(text), "| latency, us | gorun | Open MPI |\n|---|---|---|\n| 1 B | 0.1 [0.1..0.1] | 0.2 [0.2..0.2] |\n")
	require.Contains(t, string(text), "| 16 B | 0.102 [0.102..0.102] | 0.301 [0.202..0.4] |\n")
	require.Contains(t, string(text), "| 8 MiB | - | 1000 [1000..1000] |\n")

	decoded, err := stored(filepath.Join(out, "peers.json"))
	require.NoError(t, err)
	require.Equal(t, c.result.Table, decoded.Table)
	require.Equal(t, c.result.Samples, decoded.Samples)
	decodePicture(t, filepath.Join(out, "peers.png"))
	decodePicture(t, filepath.Join(out, "latency.png"))
	require.NoFileExists(t, filepath.Join(out, "bandwidth.png"), "there were no figures")

	require.NoError(t, c.report(""), "an incomplete report is printed, not stored")
}

// TestSummary checks that the summary inverts the ratios of rows in which higher is better, and omits rows
// without figures.
func TestSummary(t *testing.T) {
	lines := []line{
		{Ratio: 0.5, Verdict: attained},
		{Ratio: 2, Verdict: missed},
		{Ratio: 4, Higher: true, Verdict: attained},
		{Verdict: unknown},
	}
	require.Equal(t, "3 rows, of which 1 miss the bar. Median of the ratios, inverted where higher is better: 0.5.\n", summary(lines))
	require.Equal(t, "2 rows, of which 1 miss the bar. Median of the ratios, inverted where higher is better: 1.25.\n", summary(lines[:2]))
	require.Empty(t, summary(lines[3:]))
}

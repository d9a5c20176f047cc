package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// output runs the program with valid arguments and returns what it prints.
func output(t *testing.T, arguments string) string {
	t.Helper()
	o, err := parse(strings.Fields(arguments), io.Discard)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, run(o, &out))
	return out.String()
}

// TestTable checks that the table has a line for each algorithm. The line has a reason if there is no
// prediction.
func TestTable(t *testing.T) {
	text := output(t, "-op allgather -ranks 12,16 -bytes 1K -alpha 1000 -beta 1 -o 0 -g 0 -copy 0 -messages 100")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, lines, 2+2*5) // two lines of heading, and five algorithms for each of two numbers of ranks
	require.Regexp(t, `^# allgather in virtual time; bytes are a block`, lines[0])
	require.Regexp(t, `12 +1024 recursive-doubling +the algorithm is not for this number of ranks`, text)
	require.Regexp(t, `12 +1024 bruck +\d+\.\d\d +48 +135168 +4 +11264 +12288\n`, text)
	require.Regexp(t, `16 +1024 recursive-doubling +\d+\.\d\d +64 +245760 +4 +15360 +0\n`, text)
	require.Regexp(t, `16 +1024 ring +too many messages to simulate: .*the limit is 1e\+02`, text)
	// An algorithm that the user names and that has no prediction is an error.
	o, err := parse([]string{"-op", "allgather", "-ranks", "12", "-alg", "bruck,recursive-doubling"}, io.Discard)
	require.NoError(t, err)
	require.ErrorIs(t, run(o, io.Discard), simulation.ErrRanks)
}

func TestJSON(t *testing.T) {
	var got struct {
		Operation string
		Model     simulation.Model
		Rows      []row
	}
	text := output(t, "-json -op bcast -alg binomial -ranks 8 -bytes 100 -alpha 1000 -beta 1 -o 0 -g 0")
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Equal(t, "bcast", got.Operation)
	require.InDelta(t, 1000, got.Model.Network[0].Latency, 0)
	require.Len(t, got.Rows, 1)
	r := got.Rows[0]
	require.InDelta(t, 3*(1000+100+10)/1000.0, r.Micros, 1e-9, "10 are the copies at both ends")
	require.Equal(t, []int{8, 100, 7, 700}, []int{r.Ranks, r.Bytes, r.Messages, r.Volume})
}

// TestMeanOfDeviations checks that the mean of the deviations does not include a measured row without a
// prediction.
func TestMeanOfDeviations(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&options{measurement: measurement{directory: "programs"}}, &out)
	table.add(2, 8, "ring", &simulation.Result{Mean: 12e6}, nil, 10)
	table.add(2, 16, "ring", nil, simulation.ErrMessages, 10)
	require.NoError(t, table.close())
	require.Contains(t, out.String(), "of 1 rows, without their signs: 20.0%")
}

// TestNothingToMeasureWith checks that a measurement fails if the programs are not there.
func TestNothingToMeasureWith(t *testing.T) {
	for _, arguments := range []string{"-ranks 2 -bytes 8 -alg ring -measure ", "-calibrate -measure "} {
		o, err := parse(strings.Fields(arguments+t.TempDir()), io.Discard)
		require.NoError(t, err)
		require.ErrorContains(t, run(o, io.Discard), "gorun: no such file")
	}
}

// TestModelFile checks that the program can read the model that it prints.
func TestModelFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.json")
	require.NoError(t, os.WriteFile(file, []byte(output(t, "-print-model -alpha 77 -ranks-per-node 4 -processors 2 -gamma 3")), 0o600))
	o, err := parse([]string{"-model", file, "-processors", "3"}, io.Discard)
	require.NoError(t, err)
	want := cluster()
	want.RanksPerNode, want.Processors, want.Combine = 4, 3, 3
	for i := range want.Network {
		want.Network[i].Latency = 77
	}
	require.Equal(t, want, o.model)
}

func TestWrongFlags(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"network": [{"latency": 1, "perbit": 3}]}`), 0o600))
	negative := filepath.Join(t.TempDir(), "negative.json")
	require.NoError(t, os.WriteFile(negative, []byte(`{"network": [{"latency": -1}]}`), 0o600))
	for arguments, says := range map[string]string{
		"-op dance":                `no operation "dance"; there are barrier`,
		"-alg magic":               `-alg: no algorithm "magic" for allreduce`,
		"-alg ring,":               `-alg: no algorithm ""`,
		"-ranks 0":                 "-ranks 0: at least one rank",
		"-ranks many":              `-ranks: "many" is no size`,
		"-bytes 8:4":               "-bytes: range",
		"-root 4 -ranks 4,8":       "-root 4: with the least number of -ranks, the ranks are 0 to 3",
		"-root -1":                 "-root -1: ",
		"-messages -1":             "-messages -1: must not be negative",
		"-svg x -ranks 4 -bytes 8": "-svg: curves need several",
		"-model nowhere":           "-model: open nowhere",
		"-model " + broken:         `unknown field "perbit"`,
		"-model " + negative:       "segment 0 of network: invalid model: latency is -1 ns",
		"-alpha -1":                "invalid model: latency is -1 ns",
		"-beta much":               `invalid value "much"`,
		"-processors -1":           "invalid model",
		"-rounds 0":                "-rounds 0 -i 200: both must be at least 1",
		"-calibrate":               "-calibrate needs -measure",
		"-near -1ns -measure x":    "-near -1ns: must not be negative",
		"-near 150ns":              "-near needs -measure",
		"-bytes 8,6 -measure x":    "-bytes: -measure measures vectors of float32",
		"-speed 9":                 "flag provided but not defined: -speed",
		"allreduce":                `unexpected argument "allreduce"`,
	} {
		_, err := parse(strings.Fields(arguments), io.Discard)
		require.ErrorContains(t, err, says, arguments)
	}
	var usage bytes.Buffer
	_, err := parse([]string{"-h"}, &usage)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, usage.String(), "-ranks-per-node")
}

// TestCurves checks that a picture is well-formed XML with a line for each algorithm that has points. The
// parameter that varies is on the horizontal axis. If both the number of ranks and the length vary, the
// number of ranks is on this axis, and each algorithm has a line for each length.
func TestCurves(t *testing.T) {
	for arguments, want := range map[string]struct {
		lines int
		text  []string
	}{
		"-op barrier -ranks 2,16,128 -alg dissemination":  {1, []string{"barrier in virtual time", "ranks", "dissemination"}},
		"-op bcast -ranks 8 -bytes 0,8,1K -alg binomial":  {1, []string{"bcast in virtual time, 8 ranks", "bytes", "binomial", "1000"}},
		"-op gather -ranks 2,4 -bytes 8,1K":               {4, []string{"binomial, 8 bytes", "linear, 1024 bytes"}},
		"-op bcast -ranks 4,512 -bytes 8 -messages 10000": {5, []string{"scatter-allgather"}},
	} {
		file := filepath.Join(t.TempDir(), "curves.svg")
		output(t, arguments+" -svg "+file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := xml.NewDecoder(bytes.NewReader(text))
		lines := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
				lines++
			}
		}
		require.Equal(t, want.lines, lines, arguments)
		for _, words := range want.text {
			require.Contains(t, string(text), ">"+words+"</text>")
		}
		require.NotContains(t, string(text), "NaN")
	}
	o, err := parse(strings.Fields("-ranks 2,4 -svg /nowhere/at/all.svg"), io.Discard)
	require.NoError(t, err)
	require.ErrorContains(t, run(o, io.Discard), "-svg: open /nowhere")
	require.ErrorIs(t, (&curves{}).write(io.Discard), errNoPoints)
	var b bytes.Buffer
	require.NoError(t, (&curves{Title: "<&>", Series: []series{{Name: "one", Points: []point{{10, 10}}}}}).write(&b))
	require.Contains(t, b.String(), "&lt;&amp;&gt;")
	require.NotContains(t, b.String(), "Inf")
}

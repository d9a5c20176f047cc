package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/distance"
)

// TestRunsThatDoNotCount checks that a repeated run gives one sample, and that a program without a run that counts
// has no sample of this round. Any other error ends the measurement.
func TestRunsThatDoNotCount(t *testing.T) {
	directory := t.TempDir()
	script := "#!/bin/sh\necho '{\"Rows\": [{\"Size\": 8, \"Values\": [1]}, {\"Size\": 8, \"Values\": [5]}]}'\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "gorun"), []byte(script), 0o700))
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		err     error
		samples []float64
		log     string
		want    error
	}{
		{"repeated", nil, []float64{5, 5}, "", nil},
		{"none counts", distance.ErrFar, nil, "simulate: latency on 2 ranks: not measured in this round: ", nil},
		{"the probe fails", broken, nil, "", broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			m := measurement{directory: directory, rounds: 2, iterations: 1, log: &log}
			m.during = func(_ context.Context, run func() bool) error {
				require.False(t, run())
				require.False(t, run())
				return c.err
			}
			p := &program{name: "latency", ranks: 2, sizes: []int{8}}
			require.ErrorIs(t, m.measure(p), c.want)
			require.Equal(t, c.samples, p.samples[8])
			require.Contains(t, log.String(), c.log)
		})
	}
}

// TestRunThatFails checks that a run that fails is not repeated.
func TestRunThatFails(t *testing.T) {
	m := measurement{directory: t.TempDir(), rounds: 1, iterations: 1}
	m.during = func(_ context.Context, run func() bool) error {
		require.True(t, run())
		return nil
	}
	require.ErrorIs(t, m.measure(&program{name: "latency", ranks: 2, sizes: []int{8}}), os.ErrNotExist)
}

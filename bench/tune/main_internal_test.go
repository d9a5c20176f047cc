package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"-op", "bcast,barrier", "-m", "1,2", "-i", "3"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{operations: []string{"bcast", "barrier"}, sizes: []int{1, 2}, iterations: 3, output: "-"}, o)
	for _, args := range [][]string{{"x"}, {"-op", "scan2"}, {"-m", "8,8"}, {"-m", "0"}, {"-m", "8K"}, {"-i", "0"}, {"-x"}} {
		_, err := parse(args, io.Discard)
		require.Error(t, err, args)
	}
}

func TestMedianAndWidest(t *testing.T) {
	require.Zero(t, median(nil))
	require.InDelta(t, 2, median([]float64{3, 1, 2}), 0)
	require.Equal(t, 3, widest([]int{0, 1, 1, 2, 1}))
}

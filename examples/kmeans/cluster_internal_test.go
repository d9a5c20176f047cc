package main

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// TestClusters checks that the found centres are those around which the points were generated.
func TestClusters(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		for _, k := range []int{1, 3, 4} {
			require.NoError(t, runtime.Local(size, func(w *runtime.World) error {
				centres, err := cluster(w.Comm(), generate(4000, k), k)
				if err != nil {
					return err
				}
				if len(centres) != k {
					return fmt.Errorf("%d centres, not %d", len(centres), k)
				}
				for i := range k {
					at := []float64{10 * float64(i), -10 * float64(i)}
					p := centres[nearest(centres, at)]
					// near is false if a coordinate of p is NaN.
					if near := distance(p, at) < 0.2*0.2; !near {
						return fmt.Errorf("centre %d is at %v", i, p)
					}
				}
				return nil
			}))
		}
	}
}

// TestManyClusters checks that there may be as many clusters as points. There are more clusters than a message has
// points.
func TestManyClusters(t *testing.T) {
	const k = batch + 50
	var text strings.Builder
	for i := range k {
		fmt.Fprintln(&text, i)
	}
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		centres, err := cluster(w.Comm(), strings.NewReader(text.String()), k)
		if err == nil && len(centres) != k {
			err = fmt.Errorf("%d centres", len(centres))
		}
		return err
	}))
}

// TestBadPoints checks that every rank returns an error for a bad line and for too few points.
func TestBadPoints(t *testing.T) {
	for text, want := range map[string]string{
		"1,2\n3,x\n":                         "line 2",
		"1,2\n3\n":                           "wrong number of fields",
		"1,2\n\"3":                           "line",
		"1,2\n":                              "fewer points than clusters",
		"":                                   "fewer points than clusters",
		strings.Repeat("7,7\n", 600) + "8\n": "line 601",
	} {
		var failed atomic.Int32
		err := runtime.Local(3, func(w *runtime.World) error {
			_, err := cluster(w.Comm(), strings.NewReader(text), 2)
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("%q at rank %d: %w", want, w.Rank(), errors.Join(err, errors.New("not the error")))
			}
			failed.Add(1)
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 3, failed.Load())
	}
}

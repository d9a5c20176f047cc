package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// errPoints is the error if there are fewer points than clusters.
var errPoints = errors.New("there are fewer points than clusters")

// stepsMax is the largest number of steps of the algorithm.
const stepsMax = 1000

// cluster returns, at every rank, the centres of k clusters. Rank 0 reads the points from text.
func cluster(c *runtime.Comm, text io.Reader, k int) ([][]float64, error) {
	points, err := share(c, text, k)
	if err != nil {
		return nil, err
	}
	centres, err := collectives.BcastValue(c, apart(points, k), 0)
	switch {
	case err != nil:
		return nil, err
	case len(centres) == 0:
		return nil, fmt.Errorf("-k %d: %w", k, errPoints)
	}
	width := len(centres[0]) + 1 // numbers per cluster in sums: the coordinates and the number of points
	sums := make([]float64, k*width)
	for range stepsMax {
		clear(sums)
		for _, p := range points {
			sum := sums[nearest(centres, p)*width:][:width]
			for i, v := range p {
				sum[i] += v
			}
			sum[width-1]++
		}
		if err := collectives.AllReduce(c, sums, sums, collectives.Sum); err != nil {
			return nil, err
		}
		if !move(centres, sums) {
			break
		}
	}
	return centres, nil
}

// apart chooses k points. The first point is points[0]. Each further point is the one whose distance from the
// nearest chosen point is the largest. If there are fewer than k points, apart returns no point.
func apart(points [][]float64, k int) [][]float64 {
	var centres [][]float64
	for len(points) >= k && len(centres) < k {
		farthest, most := points[0], -1.0
		for _, p := range points {
			if len(centres) == 0 {
				break
			}
			if d := distance(centres[nearest(centres, p)], p); d > most {
				farthest, most = p, d
			}
		}
		centres = append(centres, slices.Clone(farthest))
	}
	return centres
}

// move moves each centre to the mean of its points, and reports whether any centre has moved. For each
// centre, sums has the sums of the coordinates of its points, and the number of these points.
func move(centres [][]float64, sums []float64) (moved bool) {
	width := len(sums) / len(centres)
	for i, p := range centres {
		sum := sums[i*width:][:width]
		if sum[width-1] == 0 {
			continue // a centre without points stays
		}
		for k := range p {
			v := sum[k] / sum[width-1]
			moved = moved || v != p[k]
			p[k] = v
		}
	}
	return moved
}

// nearest returns the index of the centre that is nearest to a point. If several centres are equally
// near, it returns the lowest index.
func nearest(centres [][]float64, p []float64) int {
	best, least := 0, math.Inf(1)
	for i, centre := range centres {
		if d := distance(centre, p); d < least {
			best, least = i, d
		}
	}
	return best
}

// distance returns the square of the Euclidean distance.
func distance(a, b []float64) (sum float64) {
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}

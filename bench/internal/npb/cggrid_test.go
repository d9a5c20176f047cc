package npb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
)

// TestGridAddsUpAProduct runs the exchanges of all ranks one by one. After the steps and the transpose
// exchange, every rank must have the complete sums for its own columns. A sum is complete if it includes the
// partial products of all ranks in the row of the grid that owns these matrix rows.
func TestGridAddsUpAProduct(t *testing.T) {
	for _, n := range []int{64, 75, 150} {
		for _, size := range []int{1, 2, 4, 8, 16, 32, 64} {
			t.Run(fmt.Sprintf("%d rows on %d", n, size), func(t *testing.T) { addUp(t, n, size) })
		}
	}
}

func addUp(t *testing.T, n, size int) {
	t.Helper()
	grids, w := make([]*npb.Grid, size), make([][]int, size)
	for rank := range grids {
		g, err := npb.NewGrid(n, rank, size)
		require.NoError(t, err)
		grids[rank] = g
		for row := g.Block.FirstRow; row < g.Block.LastRow; row++ {
			w[rank] = append(w[rank], 1000*row+1) // +1, so that a sum also shows how many ranks it includes
		}
	}
	for s := range grids[0].Steps {
		before := make([][]int, size)
		for rank := range w {
			before[rank] = append([]int(nil), w[rank]...)
		}
		for rank, g := range grids {
			step := g.Steps[s]
			sent := before[step.Peer][grids[step.Peer].Steps[s].Send.First:grids[step.Peer].Steps[s].Send.Last]
			require.Equal(t, rank, grids[step.Peer].Steps[s].Peer)
			require.Len(t, sent, step.Received.Len())
			for i, v := range sent {
				w[rank][step.Received.First+i] += v
			}
		}
	}
	for rank, g := range grids {
		partner := grids[g.Transpose]
		require.Equal(t, rank, partner.Transpose)
		q := w[g.Transpose][partner.Part.First:partner.Part.Last]
		require.Len(t, q, g.Block.LastCol-g.Block.FirstCol)
		for i, v := range q {
			require.Equal(t, g.Cols*(1000*(g.Block.FirstCol+i)+1), v, "rank %d, column %d", rank, i)
		}
	}
}

func TestGridRefusesOtherThanPowersOfTwo(t *testing.T) {
	_, err := npb.NewGrid(1400, 0, 3)
	require.ErrorContains(t, err, "power of two")
	_, err = npb.NewGrid(4, 0, 64)
	require.ErrorContains(t, err, "too many")
}

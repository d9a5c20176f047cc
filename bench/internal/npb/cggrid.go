package npb

import (
	"fmt"
	"math/bits"
)

// Grid describes the place of a rank in CG's grid of Rows x Cols ranks (setup_proc_info and
// setup_submatrix_info of cg.f90). Cols is Rows or 2*Rows. The rank in row i and column k is i*Cols + k.
// All ranges are half-open. Block gives the rows and columns by their indices in the whole matrix, counted from 0.
// The other ranges count rows from the first row of Block.
type Grid struct {
	Rows, Cols int
	Block      Block
	// Part is a range of the rows of Block. This rank sends the sums of these rows to its transpose partner.
	Part Range
	// Transpose is the transpose partner. The columns of the partner have the same numbers as the rows in
	// this rank's Part.
	Transpose int
	// Steps are the exchanges, with ranks in the same row of the grid, that add the partial sums of a
	// product.
	Steps []Exchange
	// Doubling are the ranks in the same row of the grid with which this rank adds scalars, by recursive
	// doubling.
	Doubling []int
}

// Range is a half-open range of the elements of a vector.
type Range struct{ First, Last int }

// Len returns the number of elements.
func (r Range) Len() int { return r.Last - r.First }

// Exchange is one step in which the partial sums of a product are added. A rank sends the range Send
// of its partial sums to Peer, and adds the numbers that it receives to the range Received.
type Exchange struct {
	Peer           int
	Send, Received Range
}

// NewGrid returns the place of a rank in the grid of size ranks, for a matrix of n rows. size must be
// a power of two.
func NewGrid(n, rank, size int) (*Grid, error) {
	if size < 1 || size&(size-1) != 0 {
		return nil, fmt.Errorf("npb: the number of ranks of CG must be a power of two, not %d", size)
	}
	log2 := bits.TrailingZeros(uint(size))
	g := &Grid{Rows: 1 << (log2 / 2), Cols: 1 << (log2 - log2/2)}
	if g.Cols > n {
		return nil, fmt.Errorf("npb: %d ranks are too many for %d rows", size, n)
	}
	row, col := rank/g.Cols, rank%g.Cols
	g.Block.FirstRow, g.Block.LastRow = share(n, row, g.Rows)
	rows := g.Block.LastRow - g.Block.FirstRow
	g.Part = Range{0, rows}
	if g.Cols == g.Rows {
		g.Block.FirstCol, g.Block.LastCol = share(n, col, g.Cols)
		g.Transpose = rank%g.Rows*g.Rows + rank/g.Rows
	} else {
		// Two neighbouring columns of the grid share one range of columns of the matrix. The even column of
		// the grid has the larger half. The sums of the rows are divided between the two grid columns in the
		// same way.
		first, last := share(n, col/2, g.Cols/2)
		half := first + (last-first+1)/2
		g.Block.FirstCol, g.Block.LastCol = first, half
		g.Part = Range{0, (rows + 1) / 2}
		if rank%2 == 1 {
			g.Block.FirstCol, g.Block.LastCol = half, last
			g.Part = Range{(rows + 1) / 2, rows}
		}
		g.Transpose = 2*(rank/2%g.Rows*g.Rows+rank/2/g.Rows) + rank%2
	}
	g.plan(row, col, rows)
	return g, nil
}

// plan fills Doubling and Steps.
func (g *Grid) plan(row, col, rows int) {
	for width := g.Cols; width > 1; width /= 2 {
		partner := (col+width/2)%width + col/width*width
		g.Doubling = append(g.Doubling, row*g.Cols+partner)
	}
	for i := len(g.Doubling) - 1; i >= 0; i-- {
		step := Exchange{Peer: g.Doubling[i], Send: g.Part, Received: g.Part}
		if g.Cols != g.Rows && i == len(g.Doubling)-1 {
			// The first step is an exchange with the neighbour that has the other half.
			step.Send = Range{g.Part.Last, rows}
			if g.Part.First > 0 {
				step.Send = Range{0, g.Part.First}
			}
		}
		g.Steps = append(g.Steps, step)
	}
}

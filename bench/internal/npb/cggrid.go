package npb

import (
	"fmt"
	"math/bits"
)

// Grid is the place of a rank in the rows x cols grid of CG (setup_proc_info
// and setup_submatrix_info of cg.f90): cols = rows or cols = 2*rows, and rank =
// row*cols + col. Ranges are half-open and count from 0.
type Grid struct {
	Rows, Cols int
	Block      Block
	// Part is the range of the block's rows whose sums this rank sends to its
	// transpose partner.
	Part Range
	// Transpose is the rank that owns the columns which are this rank's rows.
	Transpose int
	// Steps are the exchanges along the row of the grid that add up a product.
	Steps []Exchange
	// Doubling are the partners along the row for sums of scalars.
	Doubling []int
}

// Range is a half-open range of a vector.
type Range struct{ First, Last int }

// Len is the number of elements.
func (r Range) Len() int { return r.Last - r.First }

// Exchange is one step of adding up a product: a rank sends a range of its
// partial sums to its partner and adds what it receives to another range.
type Exchange struct {
	Peer           int
	Send, Received Range
}

// NewGrid places a rank among size ranks, a power of two, for n rows.
func NewGrid(n, rank, size int) (*Grid, error) {
	if size < 1 || size&(size-1) != 0 {
		return nil, fmt.Errorf("npb: CG needs a power of two of ranks, not %d", size)
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
		// Two columns of the grid split one range of columns: the even one has the larger
		// half. They split the sums of the rows in the same way.
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
			// The first step is with the neighbour that has the other half.
			step.Send = Range{g.Part.Last, rows}
			if g.Part.First > 0 {
				step.Send = Range{0, g.Part.First}
			}
		}
		g.Steps = append(g.Steps, step)
	}
}

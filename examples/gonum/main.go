// Command gonum fits a linear model to rows that are distributed over the ranks, with matrices of
// gonum. Rank 0 sends each rank its share of the rows. These rows are a part of a wider matrix. Each
// rank computes its part of the normal equations. An AllReduce adds the parts, and each rank solves
// the equations.
//
// A mat.Dense has its elements in one slice, RawMatrix().Data, in which a row begins Stride elements after
// the previous row. To send or receive a matrix without a copy, dense.go passes the slice and its layout to
// the strided calls.
//
//	gorun -np 4 . -rows 100000
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// truth holds the coefficients with which the rows are made and which the fit has to find.
var truth = []float64{2, -1, 0.5, 3}

func main() {
	rows := flag.Int("rows", 10_000, "`number` of rows")
	flag.Parse()
	runtime.Main(func(w *runtime.World) error {
		found, err := fit(w.Comm(), max(*rows, 1))
		if err == nil && w.Rank() == 0 {
			fmt.Printf("coefficients: %.3f\n", found)
		}
		return err
	})
}

// fit returns the fitted coefficients, at every rank.
func fit(c *runtime.Comm, rows int) ([]float64, error) {
	n := len(truth)
	mine, err := deal(c, rows, n+1)
	if err != nil {
		return nil, err
	}
	x, y := mine.Slice(0, mine.RawMatrix().Rows, 0, n), mine.ColView(n)
	// The matrix sums holds the normal equations. Its first n columns are x^T x, and its last column is x^T
	// y.
	sums := mat.NewDense(n, n+1, nil)
	sums.Slice(0, n, 0, n).(*mat.Dense).Mul(x.T(), x)
	sums.Slice(0, n, n, n+1).(*mat.Dense).Mul(x.T(), y)
	if err := allReduce(c, sums, collectives.Sum); err != nil {
		return nil, err
	}
	var found mat.VecDense
	if err := found.SolveVec(sums.Slice(0, n, 0, n), sums.ColView(n)); err != nil {
		return nil, err
	}
	return found.RawVector().Data, nil
}

// deal sends each rank its share of the rows of rank 0. The share does not include the first column, which
// only numbers the rows. deal returns this rank's share.
func deal(c *runtime.Comm, rows, cols int) (*mat.Dense, error) {
	per := max(rows/c.Size(), 1)
	mine := mat.NewDense(per, cols, nil)
	if c.Rank() != 0 {
		return mine, recv(c, mine, 0, 0)
	}
	all := table(per*c.Size(), cols)
	for rank := 1; rank < c.Size(); rank++ {
		if err := send(c, part(all, per*rank, per, 1, cols), rank, 0); err != nil {
			return nil, err
		}
	}
	mine.Copy(part(all, 0, per, 1, cols))
	return mine, nil
}

// part returns a part of m, which begins at row i and column k. rows is the number of rows of the part, cols
// the number of its columns.
func part(m *mat.Dense, i, rows, k, cols int) *mat.Dense {
	return m.Slice(i, i+rows, k, k+cols).(*mat.Dense)
}

// table returns a matrix whose rows consist of the number of the row, the variables and the outcome.
func table(rows, cols int) *mat.Dense {
	r := rand.New(rand.NewPCG(1, 2))
	m := mat.NewDense(rows, cols+1, nil)
	for i := range rows {
		y := 0.01 * r.NormFloat64()
		for k, factor := range truth {
			v := r.NormFloat64()
			m.Set(i, 1+k, v)
			y += factor * v
		}
		m.Set(i, 0, float64(i))
		m.Set(i, cols, y)
	}
	return m
}

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// numbered returns the matrix of a rank. All elements of the matrices of all ranks differ.
func numbered(rank, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for k := range cols {
			m.Set(i, k, float64(rank*10_000+i*100+k))
		}
	}
	return m
}

// TestPartsOfMatrices receives a part of a matrix into a part of another matrix. It checks that no element
// outside this part changes.
func TestPartsOfMatrices(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		m := numbered(c.Rank(), 7, 9)
		if c.Rank() == 0 {
			if err := send(c, part(m, 1, 3, 2, 4), 1, 0); err != nil {
				return err
			}
			return send(c, m, 1, 0)
		}
		if err := recv(c, part(m, 4, 3, 5, 4), 0, 0); err != nil {
			return err
		}
		want := numbered(1, 7, 9)
		part(want, 4, 3, 5, 4).Copy(part(numbered(0, 7, 9), 1, 3, 2, 4))
		if !mat.Equal(want, m) {
			return fmt.Errorf("received %v", mat.Formatted(m))
		}
		if err := recv(c, m, 0, 0); err != nil {
			return err
		}
		if !mat.Equal(numbered(0, 7, 9), m) {
			return fmt.Errorf("received %v", mat.Formatted(m))
		}
		return nil
	}))
}

// TestAllReduceOfMatrices checks allReduce, which works in place, with a whole matrix and with a part of a
// matrix. The elements outside the part must not change.
func TestAllReduceOfMatrices(t *testing.T) {
	for _, size := range []int{1, 2, 3} {
		require.NoError(t, runtime.Local(size, func(w *runtime.World) error {
			c := w.Comm()
			sum := mat.NewDense(6, 5, nil)
			for rank := range size {
				sum.Add(sum, numbered(rank, 6, 5))
			}
			whole, some := numbered(c.Rank(), 6, 5), numbered(c.Rank(), 6, 5)
			if err := allReduce(c, whole, collectives.Sum); err != nil {
				return err
			}
			if err := allReduce(c, part(some, 2, 3, 1, 2), collectives.Sum); err != nil {
				return err
			}
			want := numbered(c.Rank(), 6, 5)
			part(want, 2, 3, 1, 2).Copy(part(sum, 2, 3, 1, 2))
			if !mat.Equal(sum, whole) || !mat.Equal(want, some) {
				return fmt.Errorf("whole %v, part %v", mat.Formatted(whole), mat.Formatted(some))
			}
			return nil
		}))
	}
}

// TestFit checks that the fit finds the coefficients with one, two and five ranks.
func TestFit(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		require.NoError(t, runtime.Local(size, func(w *runtime.World) error {
			found, err := fit(w.Comm(), 1000)
			if err != nil {
				return err
			}
			for i, v := range found {
				if v < truth[i]-0.01 || v > truth[i]+0.01 {
					return fmt.Errorf("found %v", found)
				}
			}
			return nil
		}))
	}
}

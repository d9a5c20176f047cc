package main

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// strided returns the layout of the elements of m in m.Data. If m is a part of a wider matrix, its
// rows are not contiguous.
func strided(m blas64.General) runtime.Strided {
	return runtime.Strided{Count: m.Rows, Block: m.Cols, Stride: m.Stride}
}

// send sends a matrix, which may be a part of another matrix.
func send(c *runtime.Comm, m *mat.Dense, dest, tag int) error {
	raw := m.RawMatrix()
	return runtime.SendStrided(c, raw.Data, strided(raw), dest, tag)
}

// recv receives a matrix into m. The sent matrix must have as many elements as m. m may be a part of
// another matrix.
func recv(c *runtime.Comm, m *mat.Dense, source, tag int) error {
	raw := m.RawMatrix()
	_, err := runtime.RecvStrided(c, raw.Data, strided(raw), source, tag)
	return err
}

// allReduce combines the matrices of all ranks in m, in place. If m is a part of a wider matrix, allReduce
// copies the elements to contiguous memory, which AllReduce needs, and copies the result back.
func allReduce(c *runtime.Comm, m *mat.Dense, op collectives.Op) error {
	raw := m.RawMatrix()
	if raw.Stride == raw.Cols {
		return collectives.AllReduce(c, raw.Data, raw.Data, op)
	}
	whole := mat.DenseCopyOf(m)
	data := whole.RawMatrix().Data
	if err := collectives.AllReduce(c, data, data, op); err != nil {
		return err
	}
	m.Copy(whole)
	return nil
}

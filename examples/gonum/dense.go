package main

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// strided says where the elements of a matrix are in its Data. Those of a part of another matrix
// do not follow each other.
func strided(m blas64.General) runtime.Strided {
	return runtime.Strided{Count: m.Rows, Block: m.Cols, Stride: m.Stride}
}

// send sends a matrix, which may be a part of another one.
func send(c *runtime.Comm, m *mat.Dense, dest, tag int) error {
	raw := m.RawMatrix()
	return runtime.SendStrided(c, raw.Data, strided(raw), dest, tag)
}

// recv receives a matrix of the same number of elements into m, which may be a part of another one.
func recv(c *runtime.Comm, m *mat.Dense, source, tag int) error {
	raw := m.RawMatrix()
	_, err := runtime.RecvStrided(c, raw.Data, strided(raw), source, tag)
	return err
}

// allReduce combines the matrices of all ranks in m, in place. A part of another matrix is copied
// once, because the elements of an AllReduce follow each other.
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

package npb

import (
	"slices"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// cgRcond is the reciprocal of the condition number that CG prescribes for its matrix.
const cgRcond = 0.1

// Matrix is a block of the sparse matrix of CG. Rows and columns are numbered from 0 within the block. The
// elements of a row are in the order of their columns.
type Matrix struct{ row.Sparse }

// Block is a half-open range of rows and of columns.
type Block struct {
	FirstRow, LastRow, FirstCol, LastCol int
}

// sparseVector is one random vector. It has at most nonzer+1 elements, where nonzer is a parameter of the class.
type sparseVector struct {
	index []int32
	value []float64
}

// NewMatrix computes the elements of block b of the matrix of CG (makea of cg.f90). The matrix is the sum
// over i of size_i * v_i * v_i^T with sparse random vectors v_i, plus (rcond - shift) on the diagonal. A
// single stream of random numbers generates the whole matrix. For this reason, every rank generates all
// vectors, and keeps only the elements of its own block.
func NewMatrix(n, nonzer int, shift float64, b Block) *Matrix {
	vectors := cgVectors(n, nonzer)
	rows := b.LastRow - b.FirstRow
	room := make([]int, rows+1) // room[i+1]: number of elements of row i, including repeated ones
	for i := range vectors {
		v := &vectors[i]
		inside := 0
		for _, col := range v.index {
			if int(col) >= b.FirstCol && int(col) < b.LastCol {
				inside++
			}
		}
		for _, r := range v.index {
			if int(r) >= b.FirstRow && int(r) < b.LastRow {
				room[int(r)-b.FirstRow+1] += inside
			}
		}
	}
	for i := range rows {
		room[i+1] += room[i]
	}
	raw := &Matrix{row.Sparse{Start: room, Column: make([]int32, room[rows]), Value: make([]float64, room[rows])}}
	raw.scatter(vectors, n, shift, b)
	return raw.merge(b.LastCol - b.FirstCol)
}

// cgVectors generates the n random vectors (sprnvc and vecset of cg.f90).
func cgVectors(n, nonzer int) []sparseVector {
	span := 1
	for span < n {
		span *= 2
	}
	r := Random(seedCG)
	r.Next() // cg.f90 discards the first number
	var (
		vectors = make([]sparseVector, n)
		index   = make([]int32, 0, n*(nonzer+1))
		value   = make([]float64, 0, n*(nonzer+1))
	)
	for i := range vectors {
		from := len(index)
		for len(index)-from < nonzer {
			element, place := r.Next(), r.Next()
			at := int32(float64(span) * place)
			if int(at) >= n || slices.Contains(index[from:], at) {
				continue
			}
			index, value = append(index, at), append(value, element)
		}
		if k := slices.Index(index[from:], int32(i)); k >= 0 {
			value[from+k] = 0.5
		} else {
			index, value = append(index, int32(i)), append(value, 0.5)
		}
		vectors[i] = sparseVector{index[from:], value[from:]}
	}
	return vectors
}

// scatter computes the products of the elements of each vector. It stores each product whose row and column are in
// the block, at the index that follows the earlier products of the same row. At the call, m.Start[i] is the index
// at which the space of row i starts.
func (m *Matrix) scatter(vectors []sparseVector, n int, shift float64, b Block) {
	next := slices.Clone(m.Start)
	size, ratio := 1.0, root(cgRcond, n)
	for i := range vectors {
		v := &vectors[i]
		for k, col := range v.index {
			if int(col) < b.FirstCol || int(col) >= b.LastCol {
				continue
			}
			scale := size * v.value[k]
			for l, r := range v.index {
				if int(r) < b.FirstRow || int(r) >= b.LastRow {
					continue
				}
				element := v.value[l] * scale
				if int(r) == i && r == col {
					element += cgRcond - shift
				}
				at := next[int(r)-b.FirstRow]
				m.Column[at], m.Value[at] = col-int32(b.FirstCol), element
				next[int(r)-b.FirstRow]++
			}
		}
		size *= ratio
	}
}

// merge returns the matrix in which repeated elements are added up and the elements of every row
// are sorted by column.
func (m *Matrix) merge(cols int) *Matrix {
	var (
		rows  = len(m.Start) - 1
		out   = &Matrix{row.Sparse{Start: make([]int, rows+1), Columns: cols}}
		sums  = make([]float64, cols)
		seen  = make([]int, cols) // 1 + number of the last row that had an element in this column
		order []int32
	)
	out.Column = make([]int32, 0, len(m.Column))
	out.Value = make([]float64, 0, len(m.Value))
	for i := range rows {
		order = order[:0]
		for k := m.Start[i]; k < m.Start[i+1]; k++ {
			col := m.Column[k]
			if seen[col] != i+1 {
				seen[col], sums[col] = i+1, 0
				order = append(order, col)
			}
			sums[col] += m.Value[k]
		}
		slices.Sort(order)
		for _, col := range order {
			out.Column, out.Value = append(out.Column, col), append(out.Value, sums[col])
		}
		out.Start[i+1] = len(out.Column)
	}
	return out
}

package npb_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
)

// dense returns the whole matrix of CG, computed directly from its definition.
func dense(n, nonzer int, shift float64) [][]float64 {
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
	}
	span := 1
	for span < n {
		span *= 2
	}
	r := npb.Random(314159265)
	r.Next()
	size := 1.0
	for i := range n {
		v, order := map[int]float64{}, []int{}
		for len(order) < nonzer {
			value, place := r.Next(), r.Next()
			at := int(float64(span) * place)
			if _, ok := v[at]; at < n && !ok {
				v[at] = value
				order = append(order, at)
			}
		}
		if _, ok := v[i]; !ok {
			order = append(order, i)
		}
		v[i] = 0.5
		for _, j := range order {
			for _, k := range order {
				a[k][j] += v[k] * (size * v[j])
			}
		}
		a[i][i] += 0.1 - shift
		size *= math.Pow(0.1, 1/float64(n))
	}
	return a
}

// TestMatrixEqualsDefinition compares every block of several grids with the matrix that dense
// returns.
func TestMatrixEqualsDefinition(t *testing.T) {
	const n, nonzer, shift = 150, 5, 7
	want := dense(n, nonzer, shift)
	for _, size := range []int{1, 2, 4, 8, 16} {
		covered := 0
		for rank := range size {
			g, err := npb.NewGrid(n, rank, size)
			require.NoError(t, err)
			m := npb.NewMatrix(n, nonzer, shift, g.Block)
			for i := range g.Block.LastRow - g.Block.FirstRow {
				row := make([]float64, g.Block.LastCol-g.Block.FirstCol)
				for k := m.Start[i]; k < m.Start[i+1]; k++ {
					row[m.Column[k]] = m.Value[k]
				}
				require.InDeltaSlice(t, want[g.Block.FirstRow+i][g.Block.FirstCol:g.Block.LastCol], row, 1e-12)
				covered += len(row)
			}
		}
		require.Equal(t, n*n, covered, "the blocks of %d ranks tile the matrix", size)
	}
}

// TestMatrixClassS checks the known number of nonzeros of class S.
func TestMatrixClassS(t *testing.T) {
	m := npb.NewMatrix(1400, 7, 10, npb.Block{LastRow: 1400, LastCol: 1400})
	require.Len(t, m.Value, 78148)
}

func BenchmarkMultiplyClassA(b *testing.B) {
	const n = 14000
	m := npb.NewMatrix(n, 11, 20, npb.Block{LastRow: n, LastCol: n})
	x, y := make([]float64, n), make([]float64, n)
	for b.Loop() {
		m.Multiply(y, x)
	}
	b.ReportMetric(2*float64(len(m.Value))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mflop/s")
}

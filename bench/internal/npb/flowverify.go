package npb

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives"
)

// squares returns the sums of the squares of the residual, by component, over this rank's inner cells.
func (f *flow) squares() cell {
	return f.sum(func(k, j, i int) cell { return f.r[f.at(k, j)+i] })
}

// sum returns the sums of the squares of value, by component, over this rank's inner cells.
func (f *flow) sum(value func(k, j, i int) cell) cell {
	var sum cell
	from, to := f.inner()
	for k := 1; k < f.n-1; k++ {
		for j := from; j < to; j++ {
			for i := 1; i < f.n-1; i++ {
				for m, v := range value(k, j, i) {
					sum[m] += v * v
				}
			}
		}
	}
	return sum
}

// norm adds the sums of squares of all ranks and returns the root mean squares over all inner cells.
func (f *flow) norm(mine cell) (cell, error) {
	total := make([]float64, len(mine))
	if err := collectives.AllReduce(f.comm, mine[:], total, collectives.Sum); err != nil {
		return cell{}, err
	}
	var c cell
	for m := range c {
		c[m] = math.Sqrt(total[m] / math.Pow(float64(f.n-2), 3))
	}
	return c, nil
}

// verify returns the residual, the error and the surface integral, each with its published value.
func (f *flow) verify(residual cell) ([]Value, error) {
	scale := 1 / float64(f.n-1)
	deviation, err := f.norm(f.sum(func(k, j, i int) cell {
		c := exact(float64(i)*scale, float64(j)*scale, float64(k)*scale)
		for m, v := range f.u[f.at(k, j)+i] {
			c[m] -= v
		}
		return c
	}))
	if err != nil {
		return nil, err
	}
	integral := make([]float64, 1)
	if err := collectives.AllReduce(f.comm, []float64{f.integral()}, integral, collectives.Sum); err != nil {
		return nil, err
	}
	var values []Value
	for m := range residual {
		values = append(values, Value{fmt.Sprintf("residual %d", m+1), residual[m], f.want.residual[m], luTolerance})
	}
	for m := range deviation {
		values = append(values, Value{fmt.Sprintf("error %d", m+1), deviation[m], f.want.error[m], luTolerance})
	}
	return append(values, Value{"integral", integral[0], f.want.integral, luTolerance}), nil
}

// integral returns this rank's part of the integral of the pressure over the surface of a
// box inside the cube, by the trapezoidal rule.
func (f *flow) integral() float64 {
	x0, x1, y0, y1, z0, z1 := 1, f.n-2, 1, f.n-3, 2, f.n-2
	weight := func(i, first, last int) float64 {
		switch {
		case i == first || i == last:
			return 1
		case i < first || i > last:
			return 0
		}
		return 2
	}
	end := func(i, first, last int) float64 {
		if i == first || i == last {
			return 1
		}
		return 0
	}
	var sum float64
	for k := z0; k <= z1; k++ {
		for j := max(y0, f.first); j <= min(y1, f.first+f.rows-1); j++ {
			for i := x0; i <= x1; i++ {
				wx, wy, wz := weight(i, x0, x1), weight(j, y0, y1), weight(k, z0, z1)
				faces := end(k, z0, z1)*wx*wy + end(j, y0, y1)*wx*wz + end(i, x0, x1)*wy*wz
				sum += faces * f.states[f.at(k, j)+i].pressure
			}
		}
	}
	return 0.25 * sum / (f.t3 * f.t3)
}

package npb

import (
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

const (
	luTolerance = 1e-8 // verify.f90
	luRows      = 3    // the fewest rows of a rank
)

// luProblem is a row of the class table of LU for a cube of n points a side. It has the published root mean
// squares of the residual and of the error, and the published surface integral.
type luProblem struct {
	n, steps        int
	dt              float64
	residual, error cell
	integral        float64
}

var luProblems = map[Class]luProblem{
	"S": {
		12, 50, 0.5,
		cell{1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03, 1.5029584435994323e-03, 3.4264073155896461e-02},
		cell{6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05, 5.8474222595157350e-05, 1.3103347914111294e-03},
		7.8418928865937083e+00,
	},
	"W": {
		33, 300, 1.5e-3,
		cell{0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01, 0.2826799444189e+02},
		cell{0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01, 0.1084277417792e+01},
		0.1161399311023e+02,
	},
	"A": {
		64, 250, 2,
		cell{7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02, 1.7845301160418537e+02, 1.8384760349464247e+03},
		cell{2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00, 6.7139225687777051e+00, 7.0715315688392578e+01},
		2.6030925604886277e+01,
	},
	"B": {
		102, 250, 2,
		cell{3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02, 7.7812774739425265e+02, 7.3087969592545314e+03},
		cell{1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01, 2.5905394567832939e+01, 2.6054907504857413e+02},
		4.7887162703308227e+01,
	},
}

// LU steps the Navier-Stokes equations of a compressible fluid towards a steady state by symmetric successive
// over-relaxation. Each rank has a slab of rows. A sweep goes plane by plane, and row by row within a plane.
// In a sweep, the ranks form a pipeline. When a rank has finished its rows of a plane, it passes the row at
// its border to the next rank in the direction of the sweep, and begins the next plane. The number of ranks must
// be a power of two, and every rank needs at least three rows.
func LU(c *runtime.Comm, class Class) (*Report, error) {
	problem, ok := luProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: LU has no class %q", class)
	}
	if err := powerOfTwo("LU", c.Size(), problem.n/luRows); err != nil {
		return nil, err
	}
	f := newFlow(c, problem)
	// One untimed step touches all memory and all connections.
	if err := f.start(); err != nil {
		return nil, err
	}
	if err := f.step(); err != nil {
		return nil, err
	}
	if err := f.start(); err != nil {
		return nil, err
	}
	var residual cell
	took, err := timed(c, func() (err error) {
		for range problem.steps {
			if err := f.step(); err != nil {
				return err
			}
		}
		residual, err = f.norm(f.squares())
		return err
	})
	if err != nil {
		return nil, err
	}
	values, err := f.verify(residual)
	if err != nil {
		return nil, err
	}
	n := float64(problem.n)
	operations := float64(problem.steps) * (1984.77*n*n*n - 10923.3*n*n + 27770.9*n - 144010)
	return &Report{
		Kernel: "LU", Class: class, Size: fmt.Sprintf("%dx%dx%d", problem.n, problem.n, problem.n),
		Iterations: problem.steps, Ranks: c.Size(),
		Time: took, Mops: operations / took.Seconds() / 1e6, Operation: "floating point", Values: values,
	}, nil
}

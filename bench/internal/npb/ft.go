package npb

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/runtime"
)

const (
	ftAlpha     = 1e-6
	ftSamples   = 1024 // number of points in a checksum
	ftTolerance = 1e-12
)

// ftProblem is a row of the class table of FT: a box of nx*ny*nz points, and for each step the
// published checksum divided by 100.
type ftProblem struct {
	nx, ny, nz int
	checksums  []complex128
}

var ftProblems = map[Class]ftProblem{
	"S": {64, 64, 64, []complex128{
		5.546087004964 + 4.845363331978i, 5.546385409189 + 4.865304269511i, 5.546148406171 + 4.883910722336i,
		5.545423607415 + 4.901273169046i, 5.544255039624 + 4.917475857993i, 5.542683411902 + 4.932597244941i,
	}},
	"W": {128, 128, 32, []complex128{
		5.673612178944 + 5.293246849175i, 5.631436885271 + 5.282149986629i, 5.594024089970 + 5.270996558037i,
		5.560698047020 + 5.260027904925i, 5.530898991250 + 5.249400845633i, 5.504159734538 + 5.239212247086i,
	}},
	"A": {256, 256, 128, []complex128{
		5.046735008193 + 5.114047905510i, 5.059412319734 + 5.098809666433i, 5.069376896287 + 5.098144042213i,
		5.077892868474 + 5.101336130759i, 5.085233095391 + 5.104914655194i, 5.091487099959 + 5.107917842803i,
	}},
	"B": {512, 256, 256, []complex128{
		5.177643571579 + 5.077803458597i, 5.154521291263 + 5.088249431599i, 5.146409228649 + 5.096208912659i,
		5.142378756213 + 5.101023387619i, 5.139626667737 + 5.103976610617i, 5.137423460082 + 5.105948019802i,
		5.135547056878 + 5.107404165783i, 5.133910925466 + 5.108576573661i, 5.132470705390 + 5.109577278523i,
		5.131197729984 + 5.110460304483i, 5.130070319283 + 5.111252433800i, 5.129070537032 + 5.111968077718i,
		5.128182883502 + 5.112616233064i, 5.127393733383 + 5.113203605551i, 5.126691062020 + 5.113735928093i,
		5.126064276004 + 5.114218460548i, 5.125504076570 + 5.114656139760i, 5.125002331720 + 5.115053595966i,
		5.124551951846 + 5.115415130407i, 5.124146770029 + 5.115744692211i,
	}},
}

// FT solves a diffusion equation by Fourier transforms in three dimensions. It does one forward transform,
// and then an inverse transform in each step. Each rank has a slab of the box. In each transform, an
// all-to-all redistributes the box among the ranks. The number of ranks must be a power of two, at most ny
// and nz.
func FT(c *runtime.Comm, class Class) (*Report, error) {
	problem, ok := ftProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: FT has no class %q", class)
	}
	if err := powerOfTwo("FT", c.Size(), min(problem.ny, problem.nz)); err != nil {
		return nil, err
	}
	s := newSpectrum(c, problem)
	// One untimed transform touches all memory and all connections.
	s.fill()
	if err := s.analyse(); err != nil {
		return nil, err
	}
	var sums []complex128
	took, err := timed(c, func() (err error) {
		sums, err = s.solve()
		return err
	})
	if err != nil {
		return nil, err
	}
	steps, points := len(problem.checksums), float64(problem.nx*problem.ny*problem.nz)
	log := math.Log(points)
	operations := points * (14.8157 + 7.19641*log + (5.23518+7.21113*log)*float64(steps))
	report := &Report{
		Kernel: "FT", Class: class, Size: fmt.Sprintf("%dx%dx%d", problem.nx, problem.ny, problem.nz),
		Iterations: steps, Ranks: c.Size(),
		Time: took, Mops: operations / took.Seconds() / 1e6, Operation: "floating point",
	}
	for i, want := range problem.checksums {
		report.Values = append(report.Values, checksumValues(i+1, sums[i], 100*want)...)
	}
	return report, nil
}

// checksumValues returns the real and the imaginary part of a checksum, with tolerances. The published
// tolerance is relative to the absolute value of the complex number.
func checksumValues(step int, got, want complex128) []Value {
	size := math.Hypot(real(want), imag(want))
	return []Value{
		{fmt.Sprintf("step %d, real", step), real(got), real(want), ftTolerance * size / math.Sqrt2 / real(want)},
		{fmt.Sprintf("step %d, imag", step), imag(got), imag(want), ftTolerance * size / math.Sqrt2 / imag(want)},
	}
}

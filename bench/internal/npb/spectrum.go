package npb

import (
	"math"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Each transform along y or z processes several columns at a time. The constant groups is the number of
// octets in which these columns are, and the constant across is the number of the columns. With several
// columns, each access to another page reads or writes more bytes.
const (
	groups = 2
	across = groups * lanes
)

// spectrum is a rank's part of FT. Of the values in space, a rank has some whole planes of the box,
// [z][y][x]. Of the spectrum, a rank has some rows of every plane, also as [z][y][x]. An all-to-all converts
// one distribution to the other. The blocks of the all-to-all have the layout [rank][z][y][x], where z counts
// the planes of one rank and y the rows of the other rank.
type spectrum struct {
	comm         *runtime.Comm
	nx, ny, nz   int
	planes, rows int // numbers of planes and rows of this rank
	steps        int
	values       []complex128 // the spectrum
	work, turned []complex128
	x, y, z      *transform
	fx, fy, fz   []float64 // a step multiplies each value of the spectrum by fx[x]*fy[y]*fz[z]
	atY, atBlock []int     // offsets of the rows of a plane in space, and in blocks
	atZ          []int     // offsets of the planes of the spectrum
}

func newSpectrum(c *runtime.Comm, p ftProblem) *spectrum {
	s := &spectrum{
		comm: c, nx: p.nx, ny: p.ny, nz: p.nz, planes: p.nz / c.Size(), rows: p.ny / c.Size(), steps: len(p.checksums),
		atY: make([]int, p.ny), atBlock: make([]int, p.ny), atZ: make([]int, p.nz),
	}
	n := p.nx * p.ny * s.planes
	s.values, s.work, s.turned = make([]complex128, n), make([]complex128, n), make([]complex128, n)
	for y := range p.ny {
		s.atY[y] = y * p.nx
		s.atBlock[y] = (y/s.rows*s.planes*s.rows + y%s.rows) * p.nx
	}
	for z := range p.nz {
		s.atZ[z] = z * s.rows * p.nx
	}
	return s
}

// solve runs the timed part and returns the checksum after each step.
func (s *spectrum) solve() ([]complex128, error) {
	s.fill()
	if err := s.analyse(); err != nil {
		return nil, err
	}
	sums := make([]complex128, s.steps)
	for i := range sums {
		s.advance()
		if err := s.synthesize(); err != nil {
			return nil, err
		}
		var err error
		if sums[i], err = s.checksum(); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// fill computes the tables. It stores the initial values, which are values in space, in work.
func (s *spectrum) fill() {
	s.x, s.y, s.z = newTransform(s.nx, 1), newTransform(s.ny, groups), newTransform(s.nz, groups)
	s.fx, s.fy, s.fz = decay(s.nx), decay(s.ny), decay(s.nz)
	random := Random(seedCG)
	random.Skip(2 * uint64(s.comm.Rank()) * uint64(len(s.work)))
	line := make([]float64, 2*s.nx)
	for at := 0; at < len(s.work); at += s.nx {
		random.Fill(line)
		values, pairs := s.work[at:at+s.nx], line
		for i := range values {
			values[i] = complex(pairs[0], pairs[1])
			pairs = pairs[2:]
		}
	}
}

// decay returns the factors of one axis by which a step multiplies the spectrum: exp(-4 alpha pi^2 k^2) for
// the wave number k. The upper half of the indices stands for negative wave numbers k.
func decay(n int) []float64 {
	f := make([]float64, n)
	for i := range f {
		k := float64((i+n/2)%n - n/2)
		f[i] = math.Exp(-4 * ftAlpha * math.Pi * math.Pi * k * k)
	}
	return f
}

// analyse transforms work to the spectrum, which it stores in values.
func (s *spectrum) analyse() error {
	size := s.nx * s.ny
	for k := range s.planes {
		plane := s.work[k*size : (k+1)*size]
		s.lines(plane, false)
		block := s.turned[k*s.rows*s.nx:]
		for i := 0; i < s.nx; i += across {
			s.y.turn(block[i:], s.atBlock, plane[i:], s.atY, false)
		}
	}
	if err := collectives.AllToAll(s.comm, s.turned, s.work); err != nil {
		return err
	}
	for i := 0; i < s.rows*s.nx; i += across {
		s.z.turn(s.values[i:], s.atZ, s.work[i:], s.atZ, false)
	}
	return nil
}

// advance does one step of the spectrum, and stores the inverse transform of the spectrum along z in turned.
func (s *spectrum) advance() {
	first := s.comm.Rank() * s.rows
	for j := range s.rows {
		for i := 0; i < s.nx; i += across {
			var factors [across]float64
			for q := range factors {
				factors[q] = s.fx[i+q/lanes*lanes+row.Lanes[q%lanes]] * s.fy[first+j]
			}
			at := j*s.nx + i
			row.Damp(s.z.a, s.values[at:], s.atZ, s.fz, factors[:])
			row.Join(s.turned[at:], s.z.run(true), s.atZ, groups)
		}
	}
}

// synthesize completes the inverse transform that advance began, and stores the result, the values in space,
// in work.
func (s *spectrum) synthesize() error {
	if err := collectives.AllToAll(s.comm, s.turned, s.work); err != nil {
		return err
	}
	s.turned, s.work = s.work, s.turned
	size := s.nx * s.ny
	for k := range s.planes {
		plane, block := s.work[k*size:(k+1)*size], s.turned[k*s.rows*s.nx:]
		for i := 0; i < s.nx; i += across {
			s.y.turn(plane[i:], s.atY, block[i:], s.atBlock, true)
		}
		s.lines(plane, true)
	}
	return nil
}

// lines transforms a plane along x, in place. The constant lanes is the number of rows that it transforms at a time.
func (s *spectrum) lines(plane []complex128, inverse bool) {
	for ; len(plane) > 0; plane = plane[lanes*s.nx:] {
		s.x.lines(plane[:lanes*s.nx], inverse)
	}
}

// checksum returns the sum of the samples, divided by the number of points of the box.
func (s *spectrum) checksum() (complex128, error) {
	var sum complex128
	first := s.comm.Rank() * s.planes
	for j := 1; j <= ftSamples; j++ {
		if z := 5*j%s.nz - first; z >= 0 && z < s.planes {
			sum += s.work[(z*s.ny+3*j%s.ny)*s.nx+j%s.nx]
		}
	}
	total := make([]float64, 2)
	err := collectives.AllReduce(s.comm, []float64{real(sum), imag(sum)}, total, collectives.Sum)
	scale := 1 / float64(s.nx*s.ny*s.nz)
	return complex(scale*total[0], scale*total[1]), err
}

package npb

import (
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	epBatch     = 1 << 16 // number of pairs in a batch (nk = 2**mk of ep.f90)
	epChunk     = 1 << 10 // number of pairs processed at a time; arrays of this length stay in the first-level cache
	epAnnuli    = 10      // number of annuli in which deviates are counted
	epTolerance = 1e-8    // tolerance of verify.f90
)

// epProblem is a row of the class table of EP. A problem has 2^log2Pairs pairs. The row also has the
// published sums of the absolute values of the deviates (NPB 3.4.2 and later), and the published number of
// accepted pairs.
type epProblem struct {
	log2Pairs      int
	sumX, sumY, gc float64
}

var epProblems = map[Class]epProblem{
	"S": {24, 1.051299420395306e7, 1.051517131857535e7, 13176389},
	"W": {25, 2.102505525182392e7, 2.103162209578822e7, 26354769},
	"A": {28, 1.682235632304711e8, 1.682195123368299e8, 210832767},
	"B": {30, 6.728927543423024e8, 6.728951822504275e8, 843345606},
}

// epSums holds the results of EP for pairs of deviates: the sums of the absolute values of each component,
// and the number of pairs in each annulus.
type epSums struct {
	x, y  float64
	count [epAnnuli]int64
}

// EP makes pairs of Gaussian deviates by the acceptance-rejection method, adds up their absolute values, and counts
// the pairs by annulus. The number of ranks must not exceed the number of batches.
func EP(c *runtime.Comm, class Class) (*Report, error) {
	problem, ok := epProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: EP has no class %q", class)
	}
	batches := 1 << problem.log2Pairs / epBatch
	if c.Size() > batches {
		return nil, fmt.Errorf("npb: EP class %s has %d batches, too few for %d ranks", class, batches, c.Size())
	}
	first, last := share(batches, c.Rank(), c.Size())
	var mine, sum epSums
	took, err := timed(c, func() (err error) {
		for batch := first; batch < last; batch++ {
			mine.addBatch(batch)
		}
		sum, err = epTotal(c, &mine)
		return err
	})
	if err != nil {
		return nil, err
	}
	var pairs int64
	for _, n := range sum.count {
		pairs += n
	}
	return &Report{
		Kernel: "EP", Class: class, Size: fmt.Sprint(int64(2) << problem.log2Pairs), Ranks: c.Size(),
		Time: took, Mops: float64(int64(2)<<problem.log2Pairs) / took.Seconds() / 1e6,
		Operation: "Random numbers generated",
		Values: []Value{
			{"sx", sum.x, problem.sumX, epTolerance},
			{"sy", sum.y, problem.sumY, epTolerance},
			{"gaussian pairs", float64(pairs), problem.gc, epTolerance},
		},
	}, nil
}

// share returns the half-open range of n items that belongs to a rank. The first n mod size ranks have
// one item more than the others.
func share(n, rank, size int) (first, last int) {
	each, rest := n/size, n%size
	first = rank*each + min(rank, rest)
	last = first + each
	if rank < rest {
		last++
	}
	return first, last
}

// epTotal adds the sums of all ranks, in three reductions as in ep.f90.
func epTotal(c *runtime.Comm, mine *epSums) (epSums, error) {
	var total epSums
	x, y := make([]float64, 1), make([]float64, 1)
	if err := collectives.AllReduce(c, []float64{mine.x}, x, collectives.Sum); err != nil {
		return total, err
	}
	if err := collectives.AllReduce(c, []float64{mine.y}, y, collectives.Sum); err != nil {
		return total, err
	}
	total.x, total.y = x[0], y[0]
	err := collectives.AllReduce(c, mine.count[:], total.count[:], collectives.Sum)
	return total, err
}

// addBatch makes the pairs of one batch and adds them. It does not need the earlier batches, because the
// generator of random numbers skips to the batch's first number.
func (s *epSums) addBatch(batch int) {
	var (
		numbers [2 * epChunk]float64
		x, y, t [epChunk]float64
	)
	r := Random(seedEP)
	r.Skip(uint64(2 * epBatch * batch))
	for range epBatch / epChunk {
		r.Fill(numbers[:])
		n := epAccept(&numbers, &x, &y, &t)
		s.addPairs(x[:n], y[:n], t[:n])
	}
}

// epAccept stores the pairs inside the unit circle at the front of x and y, and the squares of their
// distances from the origin in t. It returns the number of these pairs. The compiler makes no branch of the
// if statement below. The processor would mispredict a branch that depends on the random numbers in one of
// five executions.
func epAccept(numbers *[2 * epChunk]float64, x, y, t *[epChunk]float64) int {
	n := 0
	for i := range epChunk {
		x1, x2 := 2*numbers[2*i]-1, 2*numbers[2*i+1]-1
		square := x1*x1 + x2*x2
		x[n&(epChunk-1)], y[n&(epChunk-1)], t[n&(epChunk-1)] = x1, x2, square
		inside := 0
		if square <= 1 {
			inside = 1
		}
		n += inside
	}
	return n
}

// addPairs computes the Gaussian deviates of accepted pairs, adds up their absolute values, and counts the pairs.
func (s *epSums) addPairs(x, y, t []float64) {
	var logarithms [epChunk]float64
	logs(logarithms[:], t)
	x, y = x[:len(t)], y[:len(t)]
	ln := logarithms[:len(t)]
	sumX, sumY := s.x, s.y
	// Two sets of counters take turns. Almost half of the pairs are in the same annulus. With a single set, each
	// addition to the counter of this annulus would wait for the previous addition.
	var count [2][16]int64
	for i, square := range t {
		factor := math.Sqrt(-2 * ln[i] / square)
		gx, gy := math.Abs(x[i]*factor), math.Abs(y[i]*factor)
		count[i&1][int(max(gx, gy))&15]++
		sumX += gx
		sumY += gy
	}
	s.x, s.y = sumX, sumY
	for i := range s.count {
		s.count[i] += count[0][i] + count[1][i]
	}
}

package npb

import (
	"cmp"
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
)

// mgCharges is the number of points at which the right-hand side is +1, and also the number of points at
// which it is -1.
const mgCharges = 10

// load sets the right-hand side of the equation in the planes of this rank. It generates a random
// number for each of their points. The right-hand side is +1 at the points of the ten largest
// numbers, -1 at the points of the ten smallest, and 0 elsewhere.
func (m *multigrid) load() error {
	side := m.v.side
	first := m.top().firstPlane
	random := Random(seedCG)
	random.Skip(uint64(first) * uint64(side*side))
	var found candidates
	row := make([]float64, side)
	for k := range m.v.planes {
		for j := range side {
			random.Fill(row)
			for i, value := range row {
				found.offer(value, ((first+k)*side+j)*side+i)
			}
		}
	}
	values, places, err := m.collect(&found)
	if err != nil {
		return err
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	for i := range mgCharges {
		m.charge(int(places[order[i]]), -1)
		m.charge(int(places[order[len(order)-1-i]]), 1)
	}
	return nil
}

// collect returns the candidates of all ranks. Every rank contributes the same number of candidates, because
// every rank has at least as many points as its two lists can contain.
func (m *multigrid) collect(found *candidates) (values []float64, places []int64, err error) {
	n := 2 * mgCharges
	mine, at := make([]float64, 0, n), make([]int64, 0, n)
	for _, list := range [][]candidate{found.low, found.high} {
		for _, c := range list {
			mine, at = append(mine, c.value), append(at, int64(c.place))
		}
	}
	values, places = make([]float64, n*m.comm.Size()), make([]int64, n*m.comm.Size())
	if err := collectives.AllGather(m.comm, mine, values); err != nil {
		return nil, nil, err
	}
	return values, places, collectives.AllGather(m.comm, at, places)
}

// charge stores a value at a place of the cube, if the place belongs to this rank.
func (m *multigrid) charge(place int, value float64) {
	side := m.v.side
	k := place/(side*side) - m.top().firstPlane
	if k >= 0 && k < m.v.planes {
		m.v.row(k+1, place/side%side+1)[place%side+1] = value
	}
}

// candidate is a random number and its place in the cube.
type candidate struct {
	value float64
	place int
}

// candidates contains the ten smallest and the ten largest numbers so far, in ascending order.
type candidates struct{ low, high []candidate }

func (c *candidates) offer(value float64, place int) {
	if len(c.low) == mgCharges && value >= c.low[mgCharges-1].value && value <= c.high[0].value {
		return
	}
	if at := position(c.low, value); at < mgCharges {
		c.low = slices.Insert(c.low, at, candidate{value, place})
		c.low = c.low[:min(len(c.low), mgCharges)]
	}
	if at := position(c.high, value); at > 0 || len(c.high) < mgCharges {
		c.high = slices.Insert(c.high, at, candidate{value, place})
		c.high = c.high[max(0, len(c.high)-mgCharges):]
	}
}

// position returns the index at which value has to be inserted into a list in ascending order.
func position(list []candidate, value float64) int {
	at, _ := slices.BinarySearchFunc(list, value, func(c candidate, v float64) int { return cmp.Compare(c.value, v) })
	return at
}

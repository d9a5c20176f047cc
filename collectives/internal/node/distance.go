package node

import (
	"math"
	"time"
)

// A barrier of two members takes two transfers of a cache line. Between cores with a common cache they take
// 0.1 us on a Zen 5 and 0.2 us on a Zen 4, between cores without one 0.3 us and more: then lines in shared
// memory, which one member has just read, cost their writer so much that it is slower to copy through them
// than to read private memory (docs/adr/0054).
const (
	apartTime     = 220 * time.Nanosecond
	apartRounds   = 4 // the shortest counts: a member may be interrupted
	apartBarriers = 8 // in a round: of one alone, the member that comes last has the shortest time
)

// Apart measures whether two members with processors of their own have caches far apart. Both call it, and get
// the same answer.
func (g *Group) Apart() (bool, error) {
	shortest := time.Duration(math.MaxInt64)
	for range apartRounds {
		from := time.Now()
		for range apartBarriers {
			if err := g.BarrierFlags(); err != nil {
				return false, err
			}
		}
		shortest = min(shortest, time.Since(from)/apartBarriers)
	}
	verdict := []byte{0}
	if shortest > apartTime {
		verdict[0] = 1
	}
	err := g.BcastSmall(verdict, 0)
	return verdict[0] != 0, err
}

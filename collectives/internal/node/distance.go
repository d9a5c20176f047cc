package node

import (
	"math"
	"time"
)

// A barrier of two members takes two transfers of a cache line. Between cores with a common cache the
// two transfers take 0.1 us on a Zen 5 and 0.2 us on a Zen 4. Between cores without a common cache
// they take 0.3 us and more. If there is no common cache, a member waits long before it can write lines
// of shared memory that the other member has just read. Copying through shared memory is then slower
// than reading private memory (docs/adr/0054).
const (
	apartTime     = 220 * time.Nanosecond
	apartRounds   = 4 // the shortest round counts, because a member may be interrupted
	apartBarriers = 8 // per round, because in a single barrier the last member to arrive hardly waits
)

// Apart reports whether the processors of two members are so far apart that they have no common
// cache. To find out, it measures the time of a barrier. Each member must have a processor of its
// own. Both members must call Apart, and both get the same answer.
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
	return g.verdict(shortest > apartTime)
}

// verdict returns, at both members, the value of found at member 0.
func (g *Group) verdict(found bool) (bool, error) {
	said := []byte{0}
	if found {
		said[0] = 1
	}
	err := g.BcastSmall(said, 0)
	return said[0] != 0, err
}

// To find the faster way, two members exchange blocks of weighedBytes bytes in several rounds: in each round
// once through shared memory and once by reading private memory. The shortest time of each way counts,
// because a member may be interrupted.
const (
	weighedBytes  = 64 << 10
	weighedRounds = 4
)

// PullsFaster measures how long two members with processors of their own take to exchange blocks. It returns
// true if reading each other's private memory takes less than 0.8 of the time that shared memory takes. It
// returns false if the members cannot read each other's memory. Both members call PullsFaster, and both get the
// same answer (docs/adr/0059).
func (g *Group) PullsFaster() (bool, error) {
	if able, err := g.CanPull(); !able || err != nil {
		return false, err
	}
	send, recv := make([]byte, 2*weighedBytes), make([]byte, 2*weighedBytes)
	ways := [...]func(send, recv []byte) error{g.AllToAllPipeline, g.AllToAllPull}
	shortest := [len(ways)]time.Duration{math.MaxInt64, math.MaxInt64}
	for round := range 1 + weighedRounds {
		for i, exchange := range ways {
			from := time.Now()
			if err := exchange(send, recv); err != nil {
				return false, err
			}
			if round > 0 { // the first round allocates memory and faults it in
				shortest[i] = min(shortest[i], time.Since(from))
			}
		}
	}
	return g.verdict(shortest[1] < shortest[0]*8/10)
}

package simulate

import (
	"math/rand/v2"
	"time"
)

// Streams of random numbers of one seed. Those of ranks and of pairs follow theirs.
const (
	streamConditions = iota
	streamRun
	streamRanks    = 1 << 16
	streamPairs    = 1 << 24
	streamPrograms = 1 << 32
)

// stream returns one of a seed's streams.
func stream(seed int64, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), number))
}

// Random returns a stream of random numbers of the job's seed: that of a number that the
// program chooses.
func (r Rank) Random(number uint32) *rand.Rand {
	return stream(r.Seed, streamPrograms+uint64(number))
}

// Chance is true with this probability.
func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Pick returns one of the values.
func Pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Within returns a random duration below most, 0 if most is 0.
func Within(r *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(r.Int64N(int64(most)))
}

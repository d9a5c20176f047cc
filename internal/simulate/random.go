package simulate

import (
	"math/rand/v2"
	"time"
)

// The numbers of a seed's streams of random numbers. The stream of a rank has the number streamRanks plus the
// rank. The stream of a pair has the number streamPairs plus the number of the pair.
const (
	streamConditions = iota
	streamRun
	streamRanks    = 1 << 16
	streamPairs    = 1 << 24
	streamPrograms = 1 << 32
)

// stream returns one of the streams of random numbers of a seed. number selects the stream.
func stream(seed int64, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), number))
}

// Random returns a stream of random numbers of the job's seed. The program chooses the number of
// the stream.
func (r Rank) Random(number uint32) *rand.Rand {
	return stream(r.Seed, streamPrograms+uint64(number))
}

// Chance returns true with the probability p.
func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Pick returns one of the values at random.
func Pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Within returns a random duration that is shorter than the argument most, or 0 if most is 0.
func Within(r *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(r.Int64N(int64(most)))
}

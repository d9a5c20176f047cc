package osu

import (
	"fmt"
	"os"
	"time"
)

// alone+1 is the number of calls of Compute that are timed before Compute is measured together with
// communication. The shortest time of these calls is the time of Compute alone.
const alone = 10

// Work returns the number of terms for which Compute takes about the time d, and the shortest measured time
// of Compute with that number of terms.
func Work(d time.Duration) (terms int, shortest time.Duration) {
	const sample = 1 << 20
	terms = int(float64(sample) * float64(d) / float64(shortestOf(sample)))
	return terms, shortestOf(terms)
}

// shortestOf returns the shortest time of alone+1 calls of Compute.
func shortestOf(terms int) time.Duration {
	shortest := Compute(terms)
	for range alone {
		shortest = min(shortest, Compute(terms))
	}
	return shortest
}

// Compute adds up the given number of terms of the harmonic series and returns the duration of this
// computation.
func Compute(terms int) time.Duration {
	start, sum := time.Now(), 0.0
	for i := range terms {
		sum += 1 / float64(i+1)
	}
	took := time.Since(start)
	if sum < 1 && terms > 0 {
		fmt.Fprintln(os.Stderr, "the sum of a harmonic series is at least 1")
	}
	return took
}

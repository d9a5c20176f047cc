package osu

import (
	"fmt"
	"os"
	"time"
)

// alone is how often work is timed before it is measured beside something else. The shortest of
// these times is its time alone.
const alone = 10

// Work returns how many terms Compute adds up in about d, and the shortest time that these took
// here.
func Work(d time.Duration) (terms int, shortest time.Duration) {
	const sample = 1 << 20
	terms = int(float64(sample) * float64(d) / float64(shortestOf(sample)))
	return terms, shortestOf(terms)
}

// shortestOf returns the shortest of some times of Compute.
func shortestOf(terms int) time.Duration {
	shortest := Compute(terms)
	for range alone {
		shortest = min(shortest, Compute(terms))
	}
	return shortest
}

// Compute adds up terms of the harmonic series and returns how long that took.
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

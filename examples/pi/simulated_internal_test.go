package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
)

// TestSimulated runs the program in virtual time over networks that delay messages and lose and
// restore connections.
func TestSimulated(t *testing.T) {
	simulate.RunSeeds(t, simulate.Program{Name: "pi", Ranks: []int{1, 2, 3, 5, 8}, Main: func(r simulate.Rank) error {
		const intervals = 10_000
		sum, err := pi(r.Comm(), intervals)
		// The error of the midpoint rule is about 1/(12 n^2).
		if err == nil && r.Rank() == 0 && math.Abs(sum-math.Pi) > 1./intervals/intervals {
			err = fmt.Errorf("pi is %v", sum)
		}
		return err
	}}, 20)
}

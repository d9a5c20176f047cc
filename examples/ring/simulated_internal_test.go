package main

import (
	"testing"

	"github.com/gorun-hpc/gorun/internal/simulate"
)

// TestSimulated runs the program in virtual time over networks that delay messages and lose and
// restore connections.
func TestSimulated(t *testing.T) {
	simulate.RunSeeds(t, simulate.Program{Name: "ring", Ranks: []int{1, 2, 3, 5, 8}, Main: func(r simulate.Rank) error {
		return ring(r.Comm(), 20) // ring checks the sum
	}}, 20)
}

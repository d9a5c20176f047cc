package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// TestPortions checks that the first ranks get the remainder of a division. The C program with which
// bench/peers compares this one divides in the same way.
func TestPortions(t *testing.T) {
	require.Equal(t, []int{3, 3, 2}, portions(8, 3))
	require.Equal(t, []int{1, 1, 0, 0}, portions(2, 4))
	require.Equal(t, []int{5}, portions(5, 1))
}

// TestFewerElementsThanRanks checks that every operation can be called with messages of 0 bytes. A reducescatterblock
// then has one element for each rank.
func TestFewerElementsThanRanks(t *testing.T) {
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		for _, operation := range operationNames {
			if err := newCall(operation, w.Comm(), []float32{}, []float32{})(); err != nil {
				return err
			}
		}
		return nil
	}))
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPortions checks that the first ranks get the remainder of a division. The C program with which
// bench/peers compares this one divides in the same way.
func TestPortions(t *testing.T) {
	require.Equal(t, []int{3, 3, 2}, portions(8, 3))
	require.Equal(t, []int{1, 1, 0, 0}, portions(2, 4))
	require.Equal(t, []int{5}, portions(5, 1))
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The first ranks get what is left of a division, as the twin in C divides.
func TestPortions(t *testing.T) {
	require.Equal(t, []int{3, 3, 2}, portions(8, 3))
	require.Equal(t, []int{1, 1, 0, 0}, portions(2, 4))
	require.Equal(t, []int{5}, portions(5, 1))
}

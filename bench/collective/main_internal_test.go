package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRenewal checks that the send buffer changes after each call only if -write is set.
func TestRenewal(t *testing.T) {
	defer func(w bool) { *write = w }(*write)
	send := []float32{0, 0, 0}
	*write = false
	renewal(send)(5)
	require.Equal(t, []float32{0, 0, 0}, send)
	*write = true
	renew := renewal(send)
	for i := range 2 * writtenValues {
		before := send[0]
		renew(i)
		require.NotEqual(t, before, send[0], i)
		require.Equal(t, []float32{send[0], send[0], send[0]}, send)
	}
}

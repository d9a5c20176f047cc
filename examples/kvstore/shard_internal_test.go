package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChangeOfALostPrimary checks that a replica makes a change only once. The client has sent it, and a later change,
// to the replica before the message of the lost primary arrives.
func TestChangeOfALostPrimary(t *testing.T) {
	h := &shard{counters: map[string]int64{}, last: map[int]outcome{}}
	for _, number := range []int{1, 2, 1} {
		h.apply(&change{Client: 3, Number: number, Key: "key", Add: 1})
	}
	require.Equal(t, outcome{3, 3}, h.apply(&change{Client: 3, Number: 3, Key: "key", Add: 1}))
}

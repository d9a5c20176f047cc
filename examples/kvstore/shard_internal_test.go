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

// TestRankEndsOnce checks that a rank counts once if it is lost after it was done.
func TestRankEndsOnce(t *testing.T) {
	ends := make(chan int, 3)
	e := &ending{ends: ends, over: map[int]bool{}}
	for _, rank := range []int{1, 1, 0} {
		e.end(rank)
	}
	require.Len(t, ends, 2)
	require.Equal(t, 1, <-ends)
	require.Equal(t, 0, <-ends)
}

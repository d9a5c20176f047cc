package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// awaiting returns a peer that may withdraw messages with these ids, and the messages.
func awaiting(ids ...uint32) (*peer, []*message) {
	p := new(peer)
	all := make([]*message, len(ids))
	for i, id := range ids {
		all[i] = &message{id: id}
		p.await(all[i])
	}
	return p, all
}

func TestAwaitedFindsWhatWasNotForgotten(t *testing.T) {
	for _, gone := range [][]int{{}, {0}, {2}, {4}, {0, 1}, {4, 3}, {1, 3, 2}, {0, 4, 2, 1, 3}} {
		p, all := awaiting(11, 12, 13, 14, 15)
		want := append([]*message{}, all...)
		for _, i := range gone {
			p.forget(all[i])
			want[i] = nil
		}
		for i := range all {
			require.Equal(t, want[i] != nil, all[i].waits)
			require.Same(t, want[i], p.awaited(uint32(11+i)), "message %d without %v", i, gone)
		}
		require.Nil(t, p.awaited(16))
	}
}

// TestAwaitedSearchesFromBothEnds uses an id twice, which no peer does, to see where the search begins. A
// peer that withdraws all its messages begins with the oldest or with the newest.
func TestAwaitedSearchesFromBothEnds(t *testing.T) {
	p, all := awaiting(1, 2, 1, 2, 3)
	require.Same(t, all[0], p.awaited(1))
	p, all = awaiting(3, 2, 1, 2, 1)
	require.Same(t, all[4], p.awaited(1))
}

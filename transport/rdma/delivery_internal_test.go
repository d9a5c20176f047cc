package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeldMessagesPrecedeTheStash checks the order of the messages of a link that is put in use. First come the
// messages that were held. Then come the messages of the link that are in the stash already, because the budget of a
// Poll was spent.
func TestHeldMessagesPrecedeTheStash(t *testing.T) {
	l, other := &link{}, &link{}
	l.held = []arrived{{link: l, slot: 1}, {link: l, slot: 2}}
	tr := &Transport{stash: []delivery{{arrived: arrived{link: other, slot: 8}, at: 16}, {arrived: arrived{link: l, slot: 3}}}}
	tr.unhold(l)
	require.Empty(t, l.held)
	slots := map[*link][]uint32{}
	for _, d := range tr.stash {
		slots[d.link] = append(slots[d.link], d.slot)
	}
	require.Equal(t, map[*link][]uint32{l: {1, 2, 3}, other: {8}}, slots)
}

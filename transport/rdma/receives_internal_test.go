package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPayloadsBeginWithALine: the first payload of every frame of some length lies in
// its cache lines as memory does that begins with a page.
func TestPayloadsBeginWithALine(t *testing.T) {
	require.Zero(t, (leadOf(slotDefault)+headBytes+recordBytes)%line)
	require.Zero(t, leadOf(leadMin-1), "small frames need no place for it")
	require.Zero(t, slotDefault%line)
	r := receives{slot: slotDefault, lead: leadOf(slotDefault)}
	for id := range uint32(2 * receivesPerChunk) {
		require.Zero(t, (r.offset(id)+headBytes+recordBytes)%line)
		require.LessOrEqual(t, r.offset(id)+r.slot, r.lead+receivesPerChunk*r.slot)
	}
}

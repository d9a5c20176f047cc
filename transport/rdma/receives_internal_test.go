package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPayloadsBeginWithALine checks that the first payload of a frame begins at the start of a cache line, provided
// that the registered memory does. Frames shorter than leadMin are not aligned in this way. The test also checks
// that receive slots do not overlap.
func TestPayloadsBeginWithALine(t *testing.T) {
	require.Zero(t, (leadOf(slotDefault)+headBytes+recordBytes)%line)
	require.Zero(t, leadOf(leadMin-1), "small frames need no place for it")
	require.Zero(t, slotDefault%line)
	for _, around := range []room{{}, {head: 20, tail: 7}, {head: line, tail: 0}} {
		r := receives{slot: slotDefault, lead: leadOf(slotDefault), room: around}
		end := 0
		for id := range uint32(2 * receivesPerChunk) {
			require.Zero(t, (r.offset(id)+headBytes+recordBytes)%line)
			if id%receivesPerChunk > 0 {
				require.LessOrEqual(t, end, r.offset(id)-around.head, "slots do not overlap")
			}
			require.GreaterOrEqual(t, r.offset(id), around.head)
			end = r.offset(id) + r.slot + around.tail
		}
		require.LessOrEqual(t, end, r.offset(receivesPerChunk-1)+r.slot+around.tail)
	}
}

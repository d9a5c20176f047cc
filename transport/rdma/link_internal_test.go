package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
)

// TestControlFramesHavePlacesOfTheirOwn: as many as may be on their way are not written
// over each other.
func TestControlFramesHavePlacesOfTheirOwn(t *testing.T) {
	x := newExposedTest(t)
	control, ok, err := x.t.sends.take(controlFrames * headBytes)
	require.NoError(t, err)
	require.True(t, ok)
	l := &link{control: control, broken: true} // nothing is posted
	kinds := []frameKind{frameBye, frameByeAck}
	for range credit.UpdateReserve {
		kinds = append(kinds, frameUpdate)
	}
	require.Len(t, kinds, controlFrames)
	for i, k := range kinds {
		x.t.sendControl(l, credit.Word(i), k, i%2 == 0)
	}
	found := map[head]bool{}
	for i := range controlFrames {
		h, err := parseHead(x.t.sends.bytes(&control)[i*headBytes : (i+1)*headBytes])
		require.NoError(t, err)
		found[h] = true
	}
	for i, k := range kinds {
		require.True(t, found[head{credit.Word(i), k, i%2 == 0}], "frame %d", i)
	}
}

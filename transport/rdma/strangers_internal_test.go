package rdma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// TestDeclinedRequestsAreCounted checks which counter counts a refused request of a rank with a valid tag: Repeated,
// Declined, or none. The counter depends on the reason of the refusal.
func TestDeclinedRequestsAreCounted(t *testing.T) {
	for reason, want := range map[negotiation.Reason][2]uint64{
		negotiation.Duplicate:    {1, 0},
		negotiation.StaleEpoch:   {1, 0},
		negotiation.Busy:         {0, 1},
		negotiation.Depth:        {0, 1},
		negotiation.Shutdown:     {0, 1},
		negotiation.Version:      {0, 1},
		negotiation.Simultaneous: {0, 0},
	} {
		var s Strangers
		s.declined(reason)
		require.Equal(t, want, [2]uint64{s.Repeated.Load(), s.Declined.Load()}, reason)
	}
}

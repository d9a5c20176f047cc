package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestLongestEagerMessage checks which messages fit a receive. A message of 64 KiB fits in a small job whose
// adapters pin no memory. In larger jobs, and if an adapter pins memory, a message of 16 KiB fits.
func TestLongestEagerMessage(t *testing.T) {
	for name, c := range map[string]struct {
		size, slot, fits int
		pins             bool
	}{
		"small job":                     {2, 0, 64 << 10, false},
		"largest small job":             {33, 0, 64 << 10, false},
		"larger job":                    {34, 0, 16 << 10, false},
		"small job, memory is pinned":   {2, 0, 16 << 10, true},
		"larger job, length configured": {34, 9 << 10, 8 << 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			places := memory(verbstest.StyleIWARP, 2)
			if c.pins {
				pinning(places)
			}
			ranks := newWorld(t, places, func(k *rdma.Config) { k.Size, k.Slot = c.size, c.slot }).ranks(t)
			caps := ranks[0].to(1).Caps()
			require.GreaterOrEqual(t, caps.EagerAlone, c.fits)
			require.Less(t, caps.EagerAlone, c.fits+1<<10)
			require.LessOrEqual(t, caps.EagerBest, 16<<10)
			closeAll(t, ranks)
		})
	}
}

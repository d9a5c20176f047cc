package rdma_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
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
			require.NoError(t, drive(t, ranks, "send", func() error { return ranks[0].to(1).Send(transport.Header{}, nil) }))
			pump(t, ranks, "the first message", func() bool { return ranks[1].arrivals == 1 })
			caps := ranks[0].to(1).Caps()
			require.GreaterOrEqual(t, caps.EagerAlone, c.fits)
			require.Less(t, caps.EagerAlone, c.fits+1<<10)
			require.LessOrEqual(t, caps.EagerBest, 16<<10)
			closeAll(t, ranks)
		})
	}
}

// TestMessagesGrowWithTheConnection checks that the longest eager message never becomes shorter when a connection is
// made. The hosts differ: one of them pins the memory of its receives, so that the other host's receives are longer.
func TestMessagesGrowWithTheConnection(t *testing.T) {
	for _, pins := range []int{0, 1} {
		places := memory(verbstest.StyleIWARP, 2)
		pinning(places[pins : pins+1])
		ranks := newWorld(t, places, func(*rdma.Config) {}).ranks(t)
		before := []int{ranks[0].to(1).Caps().MaxEager, ranks[1].to(0).Caps().MaxEager}
		require.Equal(t, before[0], before[1])
		require.NoError(t, drive(t, ranks, "send", func() error {
			return ranks[0].to(1).Send(transport.Header{B: uint64(before[0])}, numbered(0, before[0]))
		}))
		pump(t, ranks, "the message", func() bool { return ranks[1].arrivals == 1 })
		require.GreaterOrEqual(t, ranks[0].to(1).Caps().MaxEager, before[0])
		require.GreaterOrEqual(t, ranks[1].to(0).Caps().MaxEager, before[1])
		closeAll(t, ranks)
	}
}

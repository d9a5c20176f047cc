package rdma

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestFramesOfEverySizeCanBeSent takes buffers of one size until the memory is used up. The test checks that a buffer
// of every other size can still be taken, whether or not the first buffers were given back. Otherwise no message of
// another length could ever be sent.
func TestFramesOfEverySizeCanBeSent(t *testing.T) {
	at := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	host := &verbstest.Host{Network: verbstest.NewNetwork(verbstest.StyleInfiniBand), Addr: at}
	a, err := verbs.Open(host, at.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	d, err := a.NewProtectionDomain()
	require.NoError(t, err)
	for _, back := range []bool{false, true} {
		for _, first := range newSendMemory(a, d, slotLong).sizes[1:] {
			m := newSendMemory(a, d, slotLong)
			var taken []buffer
			for {
				b, ok, err := m.take(first)
				require.NoError(t, err)
				if !ok {
					break
				}
				taken = append(taken, b)
			}
			if back {
				for _, b := range taken {
					m.give(b)
				}
			}
			for _, n := range m.sizes {
				_, ok, err := m.take(n)
				require.NoError(t, err)
				require.True(t, ok || n == first && !back, "%d bytes after all memory was in buffers of %d bytes", n, first)
			}
			require.LessOrEqual(t, m.total, sendMemoryMax+(classes+1)*4*slotLong)
		}
	}
}

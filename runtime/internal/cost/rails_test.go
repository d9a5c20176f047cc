package cost_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nulldevice"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
)

// BenchmarkRails measures Gets of 64 MiB between two ranks that have one or two adapters each.
// The adapters simulate links of 1 or 0.5 GB/s, so the rate over two adapters is at most twice the rate
// over one adapter. The adapters move no bytes. One goroutine runs both ranks.
func BenchmarkRails(b *testing.B) {
	for _, rates := range [][]float64{{1e9}, {1e9, 1e9}, {1e9, 0.5e9}} {
		b.Run(fmt.Sprint(rates), func(b *testing.B) {
			const length = 64 << 20
			ranks := ranksOn(b, railsOf(rates), length)
			reader, owner := ranks[0], ranks[1]
			key, err := owner.transport.Expose(owner.payload, transport.AccessRead)
			require.NoError(b, err)
			get := func() {
				require.NoError(b, reader.endpoint.Get(reader.payload, key, 1))
				for reader.completed == 0 {
					reader.poll()
					owner.poll()
				}
				reader.completed = 0
			}
			// In these Gets, the rank measures whether the second adapter increases the rate.
			for range 4 {
				get()
			}
			b.SetBytes(length)
			for b.Loop() {
				get()
			}
			striped := reader.transport.Explain(1)
			if len(rates) > 1 {
				require.Contains(b, striped, "striped with")
			}
		})
	}
}

// railsOf returns the rails of two ranks: adapters with the same rates, each in a network of its
// own.
func railsOf(rates []float64) [2][]rdma.Rail {
	f := nulldevice.NewFabric()
	var rails [2][]rdma.Rail
	for i, rate := range rates {
		for rank := range rails {
			h := &nulldevice.Host{Fabric: f, Addr: netip.AddrFrom4([4]byte{10, 0, byte(i), byte(rank) + 1}), Discard: true, Rate: rate}
			rails[rank] = append(rails[rank], rdma.Rail{Provider: h, Interface: h.Addr.String(), Fabric: nulldevice.Name})
		}
	}
	return rails
}

package rdma

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestAbsenceIsOfTheLastRail: whether a peer is there is decided by attempts on the last rail on
// which there is a way to it. That nothing listens at an adapter does not count.
func TestAbsenceIsOfTheLastRail(t *testing.T) {
	var own []Rail
	var all []Location
	for i, fabric := range []string{"roce", "ib", FabricTCP} {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		host := &verbstest.Host{Network: verbstest.NewNetwork(verbstest.StyleInfiniBand), Addr: addr}
		own = append(own, Rail{Provider: host, Interface: addr.String(), Fabric: fabric})
		all = append(all, Location{Rail: uint8(i), Fabric: fabric, Address: netip.AddrPortFrom(addr.Next(), 1)})
	}
	for last := 1; last <= len(all); last++ {
		tr, err := New(Config{
			Size: 2, Job: "test", Secret: []byte("secret"), Rails: own,
			Lookup: func(int) ([]Location, error) { return all[:last], nil }, Sleeper: new(transport.ChannelSleeper),
		})
		require.NoError(t, err)
		a := newConnector(tr, 1)
		for i, r := range tr.rails[:last] {
			conn := peering.Conn{Number: uint32(i), Active: true}
			a.links[conn] = &link{conn: conn, peer: 1, rail: r, way: candidate{r, all[i]}}
			e := a.tried(peering.Event{Kind: peering.Lost, Conn: conn, Err: verbs.ErrNotListening})
			want := peering.Answered
			if i == last-1 {
				want = peering.Absent
			}
			require.Equal(t, want, e.Contact, "rail %d of %d in common", i, last)
		}
		require.NoError(t, tr.Close())
	}
}

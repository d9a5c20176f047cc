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

// TestReplacedWayIsTriedLast: the peer has lost the connection in use and has asked for another
// one before this end noticed. This end remembers the loss, too; an orderly end it does not.
func TestReplacedWayIsTriedLast(t *testing.T) {
	network := verbstest.NewNetwork(verbstest.StyleInfiniBand)
	for _, c := range []struct {
		cause error
		want  []uint8
	}{{nil, []uint8{0, 1}}, {peering.ErrReplaced, []uint8{1, 0}}} {
		var own []Rail
		var all []Location
		for i := range 2 {
			addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
			fabric := []string{"roce", FabricTCP}[i]
			own = append(own, Rail{Provider: &verbstest.Host{Network: network, Addr: addr}, Interface: addr.String(), Fabric: fabric})
			all = append(all, Location{Rail: uint8(i), Fabric: fabric})
		}
		tr, err := New(Config{
			Size: 2, Job: "test", Secret: []byte("secret"), Rails: own,
			Lookup: func(int) ([]Location, error) { return all, nil }, Sleeper: new(transport.ChannelSleeper),
		})
		require.NoError(t, err)
		a := newConnector(tr, 1)
		conn := peering.Conn{Number: 1}
		a.links[conn] = &link{conn: conn, peer: 1, rail: tr.rails[0]}
		a.comeback.used = a.links[conn]
		require.NoError(t, a.perform(nil, &peering.Action{Kind: peering.Retire, Conn: conn, Err: c.cause}))
		var got []uint8
		for _, way := range a.candidates(all) {
			got = append(got, way.rail.index)
		}
		require.Equal(t, c.want, got)
		require.NoError(t, tr.Close())
	}
}

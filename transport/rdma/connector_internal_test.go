package rdma

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// TestAbsenceIsOfTheLastRail checks that only an attempt on the last rail that both ranks have in common can
// show that a peer is absent. If nothing listens at an address of an earlier rail, the peer counts as present.
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

// TestReplacedWayIsTriedLast checks the order in which a rank tries its rails. If the peer has lost a connection
// and has requested another one before this rank noticed the loss, this rank tries the rail of the lost
// connection last. After an orderly end the order does not change.
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

// TestRecordedLook checks that a look of the peer (a connection request that tests a way, see type comeback)
// clears the recorded loss of the way once. A look that a stranger has recorded and sends again clears nothing.
// A look of a later incarnation clears the loss again, and a look of an earlier incarnation clears nothing.
func TestRecordedLook(t *testing.T) {
	x := newExposedTest(t)
	a := newConnector(x.t, 1)
	way := pair{x.p.rail.index, 0}
	clears := func(incarnation, attempt uint16) bool {
		a.losses[way] = loss{time.Now(), peering.ErrTimeout, false}
		look := &link{rail: x.p.rail, proposal: negotiation.Record{Purpose: negotiation.Look, Incarnation: incarnation, Attempt: attempt}}
		require.Equal(t, negotiation.Reachable, a.reachable(look))
		return len(a.losses) == 0
	}
	for _, c := range []struct {
		incarnation, attempt uint16
		want                 bool
	}{
		{0, 65535, true},
		{0, 65535, false},
		{0, 0, true}, // attempt numbers wrap around
		{0, 65535, false},
		{0, 3, true},
		{0, 2, false},
		{1, 1, true},
		{0, 4, false},
		{1, 1, false},
		{1, 2, true},
	} {
		require.Equal(t, c.want, clears(c.incarnation, c.attempt), "%v", c)
	}
	require.EqualValues(t, 5, x.t.Strangers().Repeated.Load())
}

// TestCloseEndsLooks checks that Close does not wait for a look whose peer does not answer.
func TestCloseEndsLooks(t *testing.T) {
	network := verbstest.NewNetwork(verbstest.StyleInfiniBand)
	var ranks [2]*Transport
	for i := range ranks {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		var err error
		ranks[i], err = New(Config{
			Rank: i, Size: 2, Job: "test", Secret: []byte("secret"), Goodbye: time.Millisecond,
			Rails:  []Rail{{Provider: &verbstest.Host{Network: network, Addr: addr}, Interface: addr.String()}},
			Lookup: func(rank int) ([]Location, error) { return ranks[rank].Locations(), nil }, Sleeper: new(transport.ChannelSleeper),
		})
		require.NoError(t, err)
	}
	look := &link{
		conn: peering.Conn{Active: true}, peer: 1, purpose: negotiation.Look, rail: ranks[0].rails[0],
		remote: ranks[1].Locations()[0].Address, timeout: time.Hour,
	}
	ranks[0].dial(look)
	require.Len(t, ranks[0].links, 1)
	ranks[0].tell(1, peering.Event{Kind: peering.Idle}) // makes a connector that Close has to end
	require.NoError(t, ranks[0].Close())
	require.Empty(t, ranks[0].links)
	require.NoError(t, ranks[1].Close())
}

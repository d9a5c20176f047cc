package rdma_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// place is where a rank of a test listens: a provider and the name of the interface to open.
type place struct {
	provider verbs.Provider
	name     string
}

// memory returns the places of n ranks on an in-memory network.
func memory(style verbstest.Style, n int) []place {
	network := verbstest.NewNetwork(style)
	places := make([]place, n)
	for i := range places {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i) + 1})
		places[i] = place{&verbstest.Host{Network: network, Addr: addr}, addr.String()}
	}
	return places
}

// pinning makes registrations expensive at the given places.
func pinning(places []place) []place {
	for _, p := range places {
		p.provider.(*verbstest.Host).PinsMemory = true
	}
	return places
}

// world holds the transports of n ranks in one process.
type world struct {
	transports []*rdma.Transport
	sleepers   []transport.Sleeper
}

// at returns locations with these addresses in the TCP fabric.
func at(addresses ...netip.AddrPort) []rdma.Location {
	list := make([]rdma.Location, len(addresses))
	for i, a := range addresses {
		list[i] = rdma.Location{Fabric: rdma.FabricTCP, Address: a}
	}
	return list
}

// newWorld makes the transports of the ranks at places. The function change, if not nil, may change the
// configuration of each rank.
func newWorld(tb testing.TB, places []place, change func(c *rdma.Config)) *world {
	tb.Helper()
	w := &world{}
	lookup := func(rank int) ([]rdma.Location, error) {
		if rank >= len(w.transports) {
			return nil, fmt.Errorf("rank %d has not joined", rank)
		}
		return w.transports[rank].Locations(), nil
	}
	list := make([]*rdma.Transport, len(places))
	for i, p := range places {
		var s transport.Sleeper = new(transport.ChannelSleeper)
		if i%2 == 0 {
			s = new(transport.NetworkSleeper) // these ranks sleep in the adapter
		}
		c := rdma.Config{
			Rank: i, Size: len(places), Job: "test", Secret: []byte("a secret of the tests"),
			Rails: []rdma.Rail{{Provider: p.provider, Interface: p.name}}, Lookup: lookup, Sleeper: s, Goodbye: 10 * time.Millisecond, Linger: 10 * time.Millisecond,
			Absence: 10 * time.Millisecond,
		}
		if change != nil {
			change(&c)
		}
		var err error
		list[i], err = rdma.New(c)
		require.NoError(tb, err)
		w.sleepers = append(w.sleepers, s)
	}
	w.transports = list
	return w
}

// encrypt encrypts the connections of all ranks.
func (w *world) encrypt(tb testing.TB) {
	tb.Helper()
	for _, t := range w.transports {
		require.NoError(tb, t.Encrypt())
	}
}

// fabric wraps a world as the Fabric that package transporttest runs on.
func (w *world) fabric() *transporttest.Fabric {
	f := &transporttest.Fabric{Sleepers: w.sleepers}
	for _, t := range w.transports {
		f.Transports = append(f.Transports, t)
	}
	return f
}

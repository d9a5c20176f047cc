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

// place is where a rank of a test listens: a provider and the interface to open.
type place struct {
	provider verbs.Provider
	name     string
}

// memory returns the places of n ranks on a network in memory.
func memory(style verbstest.Style, n int) []place {
	network := verbstest.NewNetwork(style)
	places := make([]place, n)
	for i := range places {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i) + 1})
		places[i] = place{&verbstest.Host{Network: network, Addr: addr}, addr.String()}
	}
	return places
}

// pinning makes the registrations at places costly.
func pinning(places []place) []place {
	for _, p := range places {
		p.provider.(*verbstest.Host).PinsMemory = true
	}
	return places
}

// world is the transports of n ranks of one process.
type world struct {
	transports []*rdma.Transport
	sleepers   []transport.Sleeper
}

// at returns locations in the fabric of TCP.
func at(addresses ...netip.AddrPort) []rdma.Location {
	list := make([]rdma.Location, len(addresses))
	for i, a := range addresses {
		list[i] = rdma.Location{Fabric: rdma.FabricTCP, Address: a}
	}
	return list
}

// newWorld makes the transports of the ranks at places. change, if not nil, may
// change a configuration.
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
		s := new(transport.ChannelSleeper)
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

// fabric wraps a world for the suite.
func (w *world) fabric() *transporttest.Fabric {
	f := &transporttest.Fabric{Sleepers: w.sleepers}
	for _, t := range w.transports {
		f.Transports = append(f.Transports, t)
	}
	return f
}

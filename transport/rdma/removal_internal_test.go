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

// TestActorsDoNotWaitForARemovedAdapter has actors refuse a connection request that has arrived on an adapter before
// its removal. The adapter is being closed, with its lock held. The test checks that no actor waits for the lock: an
// actor that waits makes no connection on another adapter.
func TestActorsDoNotWaitForARemovedAdapter(t *testing.T) {
	network := verbstest.NewNetwork(verbstest.StyleInfiniBand)
	slow := &slowEnd{entered: make(chan struct{}), gate: make(chan struct{})}
	var ranks [2]*Transport
	for i := range ranks {
		c := Config{
			Rank: i, Size: 2, Job: "test", Secret: []byte("secret"), Goodbye: time.Millisecond,
			Lookup: func(rank int) ([]Location, error) { return ranks[rank].Locations(), nil }, Sleeper: new(transport.ChannelSleeper),
		}
		for j, fabric := range []string{"roce", FabricTCP} {
			addr := netip.AddrFrom4([4]byte{10, 0, byte(j), byte(i + 1)})
			c.Rails = append(c.Rails, Rail{Provider: &verbstest.Host{Network: network, Addr: addr}, Interface: addr.String(), Fabric: fabric})
		}
		if i == 0 {
			slow.Provider, c.Rails[0].Provider = c.Rails[0].Provider, slow
		}
		var err error
		ranks[i], err = New(c)
		require.NoError(t, err)
	}
	tr, r := ranks[0], ranks[0].rails[0]
	ranks[1].dial(&link{
		conn: peering.Conn{Active: true}, purpose: negotiation.Look, rail: ranks[1].rails[0], remote: tr.Locations()[0].Address, timeout: time.Hour,
	})
	var arrived [1]verbs.Completion
	for n := 0; n == 0; {
		n, _ = r.queue.Advance(arrived[:])
	}
	l := &link{peer: 1, rail: r, request: arrived[0].Event.Request, purpose: negotiation.Look}
	require.True(t, r.remove(errPortDown))
	<-slow.entered

	a, d := newConnector(tr, 1), &supervisor{t: tr, ended: map[int]bool{1: true}}
	for name, act := range map[string]func(){
		"a refusal":                 func() { a.refuse(l, negotiation.Reject{Reason: negotiation.Duplicate}) },
		"a look":                    func() { a.requested(l) },
		"a peer that has been lost": func() { d.request(nil, l) },
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			act()
		}()
		select {
		case <-done:
			require.Equal(t, 1, tr.obey(), name)
		case <-time.After(10 * time.Second):
			t.Error("the actor waits for the adapter:", name)
		}
	}
	close(slow.gate)
	for _, tr := range ranks {
		require.NoError(t, tr.Close())
	}
}

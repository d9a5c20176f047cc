package rdma_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestPortDown checks that the ranks leave an adapter whose port goes down, and return to it when the port is
// up. The log names the adapter only once.
func TestPortDown(t *testing.T) {
	r, cut := fragileRails(2)
	log := new(lines)
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		impatient(c)
		r.config(c)
		c.Log, c.Recovery = log.log, patience // Recovery is so long that only the event can bring the ranks back
	}).ranks(t)
	stream(t, ranks, 0, 1, 300, 100, func() {
		for range 2 {
			cut[0].events <- provider.Event{Kind: provider.EventPortDown}
		}
	})
	require.Contains(t, ranks[0].Explain(1), "; not 10.0.0.1: its port is down")
	require.Contains(t, ranks[0].Explain(1), "connected 2 times")
	cut[0].events <- provider.Event{Kind: provider.EventPortUp}
	pump(t, ranks, "another connection", func() bool { return strings.Contains(ranks[0].Explain(1), "connected 3 times") })
	require.NotContains(t, ranks[0].Explain(1), "; not")
	stream(t, ranks, 1, 0, 10, 0, func() {})
	closeAll(t, ranks) // the log is complete only then, because another goroutine writes it
	require.Equal(t, 1, log.count("its port is up again"))
	require.Equal(t, 1, log.count("adapter 10.0.0.1: its port is down"))
}

// TestAllPortsDown has the ports of all adapters of a rank go down. The test checks that the last connection is kept,
// because it may survive.
func TestAllPortsDown(t *testing.T) {
	r, cut := fragileRails(2)
	last := &scissors{Provider: r.second[0].provider, events: make(chan provider.Event, 1)}
	r.second[0].provider = last
	log := new(lines)
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		impatient(c)
		r.config(c)
		c.Log, c.Recovery = log.log, patience
	}).ranks(t)
	stream(t, ranks, 0, 1, 300, 100, func() { cut[0].events <- provider.Event{Kind: provider.EventPortDown} })
	last.events <- provider.Event{Kind: provider.EventPortDown}
	pump(t, ranks, "the event", func() bool { return len(last.events) == 0 })
	stream(t, ranks, 1, 0, 300, 0, func() {})
	require.Contains(t, ranks[0].Explain(1), "connected 2 times")
	closeAll(t, ranks)
	require.Equal(t, 1, log.count("its port is down"))
}

package rdma_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// TestPortDown checks that the ranks leave an adapter whose port goes down, and return to it when the port is
// up. The log has one line about the port that is down, and one line about the port that is up again.
func TestPortDown(t *testing.T) {
	r, cut := fragileRails(2)
	log := new(lines)
	ranks := newWorld(t, r.first, func(c *rdma.Config) {
		prompt(c)
		r.config(c)
		c.Log, c.Recovery = log.log, patience // Recovery is so long that only the event can bring the ranks back
	}).ranks(t)
	stream(t, ranks, 0, 1, 300, 100, func() {
		for range 2 {
			cut[0].events <- provider.Event{Kind: provider.EventPortDown}
		}
	})
	// The stream may end before the ranks have handled the event.
	pump(t, ranks, "another connection", func() bool { return strings.Contains(ranks[0].Explain(1), "connected 2 times") })
	require.Contains(t, ranks[0].Explain(1), "; not 10.0.0.1: its port is down")
	cut[0].events <- provider.Event{Kind: provider.EventPortUp}
	pump(t, ranks, "another connection", func() bool { return strings.Contains(ranks[0].Explain(1), "connected 3 times") })
	require.NotContains(t, ranks[0].Explain(1), "; not")
	stream(t, ranks, 1, 0, 10, 0, func() {})
	closeAll(t, ranks) // the log is complete only then, because another goroutine writes it
	require.Equal(t, 1, log.count("its port is up again"))
	require.Equal(t, 1, log.count("adapter 10.0.0.1: its port is down"))
}

// TestAllPortsDown has the ports of all adapters of a rank go down. Then the port that went down first comes up again.
// The test checks that the last connection is kept, because it may survive, and that the ranks leave its adapter as
// soon as the other adapter works.
func TestAllPortsDown(t *testing.T) {
	for name, last := range map[string]int{"the first last": 0, "the second last": 1} {
		t.Run(name, func(t *testing.T) {
			r, cut := fragileRails(2)
			second := &scissors{Provider: r.second[0].provider, events: make(chan provider.Event, 4)}
			r.second[0].provider = second
			log := new(lines)
			ranks := newWorld(t, r.first, func(c *rdma.Config) {
				prompt(c)
				r.config(c)
				c.Log, c.Recovery = log.log, patience
			}).ranks(t)
			events := []chan provider.Event{cut[0].events, second.events}
			kept, other := events[last], events[1-last]
			logged := func(n int, text string) {
				t.Helper()
				pump(t, ranks, text, func() bool { return log.count(text) == n })
			}
			stream(t, ranks, 0, 1, 300, 100, func() { other <- provider.Event{Kind: provider.EventPortDown} })
			logged(1, "its port is down; its connections are made again")
			for range 2 {
				kept <- provider.Event{Kind: provider.EventPortDown}
			}
			logged(1, "its port is down; its connections are kept")
			stream(t, ranks, 1, 0, 300, 0, func() {})
			require.Equal(t, last == 0, onFirst(ranks[0]))
			require.Equal(t, last == 1, strings.Contains(ranks[0].Explain(1), "connected 2 times"))
			other <- provider.Event{Kind: provider.EventPortUp}
			pump(t, ranks, "the other adapter", func() bool { return onFirst(ranks[0]) == (last != 0) })
			logged(2, "its port is down; its connections are made again")
			stream(t, ranks, 0, 1, 300, 0, func() {})
			require.Contains(t, ranks[0].Explain(1), fmt.Sprintf("connected %d times", 2+last))
			kept <- provider.Event{Kind: provider.EventPortUp}
			logged(2, "its port is up again")
			pump(t, ranks, "the first adapter", func() bool { return onFirst(ranks[0]) })
			stream(t, ranks, 1, 0, 300, 0, func() {})
			closeAll(t, ranks)
			require.Equal(t, 3, log.count("its port is down"))
		})
	}
}

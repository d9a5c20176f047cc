package rdma_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestConformance runs the suite of package transporttest on in-memory adapters that behave like iWARP and like
// InfiniBand. The variants have no RDMA Reads, have short receives (Slot), assume that a faster transport is
// polled with them (Companion), or copy all memory.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		style  verbstest.Style
		change func(c *rdma.Config)
		long   bool // skipped with -short
		pins   bool // registrations are expensive
	}{
		{"iwarp", verbstest.StyleIWARP, nil, false, false},
		{"infiniband", verbstest.StyleInfiniBand, nil, false, false},
		{"without-reads", verbstest.StyleIWARP, func(c *rdma.Config) { c.NoReads = true }, true, false},
		{"small-slots", verbstest.StyleIWARP, func(c *rdma.Config) { c.Slot = 1024; c.ReadsOut = 1 }, true, false},
		{"companion", verbstest.StyleIWARP, func(c *rdma.Config) { c.Companion = true }, false, false},
		{"copies", verbstest.StyleInfiniBand, func(c *rdma.Config) { c.CopyBelow = 1 << 30 }, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.long {
				t.Skip("the same code as iwarp: without -short")
			}
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				places := memory(c.style, ranks)
				if c.pins {
					pinning(places)
				}
				return newWorld(tb, places, c.change).fabric()
			})
		})
	}
}

package rdma_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// The suite of package transport runs on adapters in memory that behave like iWARP
// and like InfiniBand, with Reads and without, and with few credits.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		style  verbstest.Style
		change func(c *rdma.Config)
		long   bool // not with -short
	}{
		{"iwarp", verbstest.StyleIWARP, nil, false},
		{"infiniband", verbstest.StyleInfiniBand, nil, false},
		{"without-reads", verbstest.StyleIWARP, func(c *rdma.Config) { c.NoReads = true }, true},
		{"small-slots", verbstest.StyleIWARP, func(c *rdma.Config) { c.Slot = 1024; c.ReadsOut = 1 }, true},
		{"companion", verbstest.StyleIWARP, func(c *rdma.Config) { c.Companion = true }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.long {
				t.Skip("the same code as iwarp: without -short")
			}
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				return newWorld(tb, memory(c.style, ranks), c.change).fabric()
			})
		})
	}
}

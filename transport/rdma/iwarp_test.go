package rdma_test

import (
	"testing"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// loopback returns the places of n ranks on the loopback interface.
func loopback(p verbs.Provider, n int) []place {
	places := make([]place, n)
	for i := range places {
		places[i] = place{p, "127.0.0.1"}
	}
	return places
}

// TestConformanceOverTCP runs the suite of package transporttest over TCP on the loopback interface.
func TestConformanceOverTCP(t *testing.T) {
	for _, c := range []struct {
		name   string
		config iwarp.Config
		change func(c *rdma.Config)
		sealed bool
	}{
		{"crc", iwarp.Config{}, nil, false},
		{"compressed", iwarp.Config{NoCRC: true, Packing: iwarp.PackAlways}, nil, false},
		{"without-crc-and-reads", iwarp.Config{NoCRC: true}, func(c *rdma.Config) { c.NoCRC, c.NoReads = true, true }, false},
		{"encrypted", iwarp.Config{}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && (c.config.NoCRC || c.sealed) {
				t.Skip("the same code as with CRC and Reads: without -short")
			}
			transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric {
				tb.Helper()
				w := newWorld(tb, loopback(iwarp.New(c.config), ranks), func(rc *rdma.Config) {
					// The kernel may hold the last bytes back for 40 ms, the delay of a delayed acknowledgement.
					rc.Goodbye = 80 * time.Millisecond
					if c.change != nil {
						c.change(rc)
					}
				})
				if c.sealed {
					w.encrypt(tb)
				}
				return w.fabric()
			})
		})
	}
}

package nulldevice_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nulldevice"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// harness opens adapters on the hosts of a fabric.
type harness struct {
	fabric *nulldevice.Fabric
	hosts  byte
}

// Open implements verbstest.Harness.
func (h *harness) Open(tb testing.TB) *verbs.Adapter {
	tb.Helper()
	h.hosts++
	host := &nulldevice.Host{Fabric: h.fabric, Addr: netip.AddrFrom4([4]byte{10, 0, 0, h.hosts})}
	a, err := verbs.Open(host, host.Addr.String())
	require.NoError(tb, err)
	return a
}

// Inject implements verbstest.Harness.
func (h *harness) Inject(tb testing.TB, f verbstest.Fault) (verbstest.Scene, bool) {
	tb.Helper()
	if f == verbstest.FaultUnreachable {
		return verbstest.Scene{Remote: netip.MustParseAddrPort("10.1.0.1:7471")}, true
	}
	return verbstest.Scene{}, false
}

// Again implements verbstest.Virtual.
func (h *harness) Again() verbstest.Harness { return &harness{fabric: nulldevice.NewFabric()} }

// TestVerbs runs the specification of package verbs.
func TestVerbs(t *testing.T) {
	verbstest.Run(t, func(testing.TB) verbstest.Harness { return &harness{fabric: nulldevice.NewFabric()} })
}

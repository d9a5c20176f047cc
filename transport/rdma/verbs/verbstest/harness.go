package verbstest

import (
	"net/netip"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Harness makes the adapters that Run tests. One harness serves one subtest.
type Harness interface {
	// Open opens an adapter. All adapters of one harness reach each other. The suite
	// closes them. What the machine lacks skips the test.
	Open(tb testing.TB) *verbs.Adapter
	// Inject prepares a fault, or returns false: this provider cannot. What it needs
	// is cleaned up with tb.
	Inject(tb testing.TB, f Fault) (Scene, bool)
}

// Fault is something that goes wrong on demand.
type Fault uint8

const (
	// FaultUnreachable is an address to which nothing leads: Scene.Remote.
	FaultUnreachable Fault = iota + 1
	// FaultSilence is an address that swallows everything: Scene.Remote.
	FaultSilence
	// FaultTransport is an address at which the transport fails while it connects:
	// Scene.Remote.
	FaultTransport
	// FaultQoS is an adapter, Scene.Adapter, that lacks a quality of service the
	// others have, Scene.QoS. The suite closes it.
	FaultQoS
	// FaultCut breaks an established connection: Scene.Cut.
	FaultCut
)

// Scene is a prepared fault.
type Scene struct {
	Remote  netip.AddrPort
	Adapter *verbs.Adapter
	QoS     verbs.QoS
	// Cut breaks the connection of an endpoint so that both ends see it fail.
	Cut func(ep *verbs.Endpoint)
}

// memoryHarness opens hosts of a Network.
type memoryHarness struct {
	network *Network
	hosts   byte
}

// NewMemoryHarness returns a harness of a new Network.
func NewMemoryHarness(style Style) Harness { return &memoryHarness{network: NewNetwork(style)} }

func (h *memoryHarness) Open(tb testing.TB) *verbs.Adapter {
	tb.Helper()
	return h.open(tb, nil)
}

func (h *memoryHarness) open(tb testing.TB, qos []verbs.QoS) *verbs.Adapter {
	tb.Helper()
	h.hosts++
	host := &Host{Network: h.network, Addr: netip.AddrFrom4([4]byte{10, 0, 0, h.hosts}), QoS: qos}
	a, err := verbs.Open(host, host.Addr.String())
	if err != nil {
		tb.Fatalf("open %v: %v", host.Addr, err)
	}
	return a
}

func (h *memoryHarness) Inject(tb testing.TB, f Fault) (Scene, bool) {
	tb.Helper()
	remote := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(f)}), 7471)
	h.network.mu.Lock()
	h.network.faults[remote.Addr()] = f
	h.network.mu.Unlock()
	s := Scene{Remote: remote}
	switch f {
	case FaultQoS:
		s.Adapter, s.QoS = h.open(tb, []verbs.QoS{verbs.QoSBestEffort}), verbs.QoSLowLatency
	case FaultCut:
		s.Cut = func(ep *verbs.Endpoint) {
			if i, err := ep.Query(); err == nil {
				h.network.broke(i.Local)
			}
		}
	default:
	}
	return s, true
}

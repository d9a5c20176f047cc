package verbstest

import (
	"net/netip"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
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

// Fault is something that goes wrong, or differs between the two sides, on demand.
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
	// FaultMute is an adapter, Scene.Adapter, whose connects send nothing by themselves,
	// so that a passive side hears nothing before the active consumer's first message. The
	// suite closes it.
	FaultMute
	// FaultMultipath is an adapter, Scene.Adapter, that has several paths, which the
	// others have not. The suite closes it.
	FaultMultipath
	// FaultDevice is what happens to a device as a whole: Scene.Happen.
	FaultDevice
)

// Virtual is a Harness whose adapters wait for nothing but channels and timers of the
// process. Statements on time are proved on it, in a bubble of testing/synctest.
type Virtual interface {
	Harness
	// Again returns a new harness of the same kind.
	Again() Harness
}

// Observer is a Harness that sees what a consumer cannot.
type Observer interface {
	Harness
	// ReadsUnderWay returns how many Reads of a connected endpoint have been sent and not
	// been answered.
	ReadsUnderWay(tb testing.TB, ep *verbs.Endpoint) int
}

// Scene is a prepared fault.
type Scene struct {
	Remote  netip.AddrPort
	Adapter *verbs.Adapter
	QoS     verbs.QoS
	// Cut breaks the connection of an endpoint so that both ends see it fail.
	Cut func(ep *verbs.Endpoint)
	// Happen has the device of an adapter of the harness report an event.
	Happen func(a *verbs.Adapter, e provider.Event)
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
	return h.open(tb, Host{})
}

// Again implements Virtual.
func (h *memoryHarness) Again() Harness { return NewMemoryHarness(h.network.style) }

// ReadsUnderWay implements Observer.
func (h *memoryHarness) ReadsUnderWay(tb testing.TB, ep *verbs.Endpoint) int {
	tb.Helper()
	i, err := ep.Query()
	if err != nil {
		tb.Fatalf("query: %v", err)
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if p := h.network.pairs[i.Local]; p != nil {
		return p.reads
	}
	return h.network.pairs[i.Remote].peer.reads // the passive side has its listener's port
}

// open opens a host that has the particulars given.
func (h *memoryHarness) open(tb testing.TB, particulars Host) *verbs.Adapter {
	tb.Helper()
	h.hosts++
	host := &particulars
	host.Network, host.Addr = h.network, netip.AddrFrom4([4]byte{10, 0, 0, h.hosts})
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
		s.Adapter, s.QoS = h.open(tb, Host{QoS: []verbs.QoS{verbs.QoSBestEffort}}), verbs.QoSLowLatency
	case FaultMute:
		s.Adapter = h.open(tb, Host{}) // as all are
	case FaultMultipath:
		s.Adapter = h.open(tb, Host{Multipath: true})
	case FaultDevice:
		s.Happen = func(a *verbs.Adapter, e provider.Event) {
			h.network.mu.Lock()
			d := h.network.hosts[netip.MustParseAddr(a.Attributes().Interface)]
			h.network.mu.Unlock()
			d.happen(e)
		}
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

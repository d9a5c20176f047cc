package verbstest

import (
	"net/netip"
	"testing"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Harness makes the adapters that Run tests. One harness serves one subtest.
type Harness interface {
	// Open opens an adapter. All adapters of one harness can connect to each other. The suite
	// closes them. If the host lacks a resource that an adapter needs, Open skips the test.
	Open(tb testing.TB) *verbs.Adapter
	// Inject prepares a fault. It returns false if the tested provider cannot produce the fault.
	// The resources of the fault are released when the test tb ends.
	Inject(tb testing.TB, f Fault) (Scene, bool)
}

// Fault is a failure, or a difference between the two sides, that Harness.Inject produces on
// demand.
type Fault uint8

const (
	// FaultUnreachable sets Scene.Remote to an address that cannot be reached.
	FaultUnreachable Fault = iota + 1
	// FaultSilence sets Scene.Remote to an address that never answers.
	FaultSilence
	// FaultTransport sets Scene.Remote to an address at which the transport fails while it
	// connects.
	FaultTransport
	// FaultQoS sets Scene.QoS to a quality of service, and Scene.Adapter to an adapter that lacks it.
	// The other adapters have it. The suite closes the adapter.
	FaultQoS
	// FaultCut sets Scene.Cut, which breaks an established connection.
	FaultCut
	// FaultMute sets Scene.Adapter to an adapter that does not send data by itself when it
	// connects. So the passive side receives no data before the first message of the active
	// consumer. The suite closes the adapter.
	FaultMute
	// FaultMultipath sets Scene.Adapter to an adapter that has several paths. The other adapters
	// have a single path. The suite closes the adapter.
	FaultMultipath
	// FaultDevice sets Scene.Happen, which reports an event of a device as a whole.
	FaultDevice
)

// Virtual is a Harness whose adapters block only on channels and timers of the process. With a
// Virtual harness, the suite tests statements about time in a bubble of testing/synctest.
type Virtual interface {
	Harness
	// Again returns a new harness of the same kind.
	Again() Harness
}

// Observer is a Harness that can observe state that a consumer cannot observe.
type Observer interface {
	Harness
	// ReadsUnderWay returns the number of Reads of a connected endpoint that have been sent and have
	// not been answered yet.
	ReadsUnderWay(tb testing.TB, ep *verbs.Endpoint) int
}

// Scene is a prepared fault. The Fault determines which fields are set.
type Scene struct {
	Remote  netip.AddrPort
	Adapter *verbs.Adapter
	QoS     verbs.QoS
	// Cut breaks the connection of an endpoint of the active side, so that both ends see it fail.
	Cut func(ep *verbs.Endpoint)
	// Happen makes the device of an adapter of the harness report an event.
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
	return h.network.pairs[i.Remote].peer.reads // on the passive side, i.Local has the port of the listener
}

// open opens the adapter of a new host. The argument particulars holds the fields of the host other
// than its network and its address.
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
		s.Adapter = h.open(tb, Host{}) // no adapter of a Network sends data by itself
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

package verbstest

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Style is what a Network behaves like.
type Style uint8

const (
	// StyleIWARP has exact private data, no waiting for receives, and an active side
	// that speaks first; a Send or Write is done when it is on its way.
	StyleIWARP Style = iota
	// StyleInfiniBand pads private data, carries the connection's parameters, waits
	// for receives (RNR), has immediate data and atomics, and completes what the peer has
	// acknowledged, which it does for requests that are signalled.
	StyleInfiniBand
)

// Network connects adapters within the process. Frames go from one device's inbox to
// another's and are handled by the next poll there: there are no goroutines. Its mutex and
// those of the inboxes are taken last, for a moment.
type Network struct {
	style Style

	mu     sync.Mutex
	hosts  map[netip.Addr]*device
	points map[netip.AddrPort]*point
	pairs  map[netip.AddrPort]*pair
	faults map[netip.Addr]Fault
	// left are hosts whose adapter was closed: the machine still answers that nothing
	// listens.
	left map[netip.Addr]bool
	port uint16
}

// NewNetwork returns a network without hosts.
func NewNetwork(style Style) *Network {
	return &Network{
		style: style, hosts: map[netip.Addr]*device{}, points: map[netip.AddrPort]*point{},
		pairs: map[netip.AddrPort]*pair{}, faults: map[netip.Addr]Fault{}, left: map[netip.Addr]bool{}, port: 49152,
	}
}

// Host is a provider with one interface, at one address of a Network.
type Host struct {
	Network *Network
	Addr    netip.Addr
	// QoS replaces the list of the adapter if it is not nil.
	QoS []verbs.QoS
	// Multipath says that the adapter has several paths, PinsMemory that its registrations
	// count as costly. PinMost bounds what is registered at a time, in bytes, if it is not 0.
	Multipath, PinsMemory bool
	PinMost               int
	// SinksAreWritable is the attribute.
	SinksAreWritable bool
}

var _ verbs.Provider = (*Host)(nil)

// Name returns "memory".
func (h *Host) Name() string { return "memory" }

// Interfaces returns the address.
func (h *Host) Interfaces() ([]string, error) { return []string{h.Addr.String()}, nil }

// Open opens the interface. Two may not be open at one address.
func (h *Host) Open(_ string, a provider.Adapter) (provider.Device, error) {
	n := h.Network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[h.Addr] != nil {
		return nil, verbs.ErrInsufficientResources
	}
	d := &device{
		network: n, adapter: a, addr: h.Addr, attributes: attributes(n.style, h.Addr, h.QoS),
		awake: make(chan struct{}, 1), regions: map[uint32]*region{}, key: 0x100,
	}
	d.attributes.Multipath, d.attributes.PinsMemory, d.attributes.MaxPinned = h.Multipath, h.PinsMemory, h.PinMost
	d.pinMost, d.attributes.SinksAreWritable = h.PinMost, h.SinksAreWritable
	n.hosts[h.Addr] = d
	return d, nil
}

// attributes are those of a host.
func attributes(style Style, addr netip.Addr, qos []verbs.QoS) verbs.Attributes {
	if qos == nil {
		qos = []verbs.QoS{verbs.QoSBestEffort, verbs.QoSLowLatency}
	}
	// No two limits are equal, so that none is taken for another one.
	a := verbs.Attributes{
		Provider: "memory", Interface: addr.String(), Transport: "frames in memory",
		Services: []verbs.Service{verbs.ServiceReliable}, QoS: qos,
		MaxMessage: 1 << 30, MaxRDMA: 1 << 29, MaxRequests: 1024, MaxReceives: 2048, MaxSegments: 8, MaxReadSegments: 4,
		MaxInline: 64, MaxReadsIn: 32, MaxReadsOut: 24, MaxSharedReceives: 4096, MaxCompletions: 1 << 16,
		MaxRequestData: 508, MaxAcceptData: 507, MaxRejectData: 506, ActiveSpeaksFirst: true,
		Endpoint: verbs.EndpointAttributes{
			MaxMessage: 1 << 20, MaxRDMA: 1 << 29, MaxReceives: 16, MaxRequests: 16, MaxReceiveSegments: 2, MaxRequestSegments: 2,
			ReadsIn: 8, ReadsOut: 6,
		},
	}
	if style == StyleInfiniBand {
		a.MaxRequestData, a.MaxAcceptData, a.MaxRejectData = 56, 196, 148
		a.ImmediateData, a.Atomics = true, true
		a.PadsPrivateData, a.CarriesConnParam, a.WaitsForReceive, a.ActiveSpeaksFirst = true, true, true, false
		a.MinRNRTimer = 655360 * time.Microsecond
	}
	return a
}

// send puts a frame into the inbox of a device, and reports whether there is one.
func (d *device) send(f frame) {
	d.inbox.Lock()
	closed := d.closed
	if !closed {
		d.frames = append(d.frames, f)
	}
	d.inbox.Unlock()
	if !closed {
		d.Wake()
	}
}

// bind gives a pair a port of its host. The network is locked.
func (n *Network) bind(p *pair) {
	for {
		if n.port++; n.port == 0 {
			n.port = 49152
		}
		p.local = netip.AddrPortFrom(p.device.addr, n.port)
		if n.points[p.local] == nil && n.pairs[p.local] == nil {
			n.pairs[p.local] = p
			return
		}
	}
}

var (
	errReset     = errors.New("connection reset")
	errNoHost    = errors.New("no such host")
	errNoReceive = errors.New("no receive was posted")
)

// dial sends the request of a pair to the listener at remote.
func (n *Network) dial(p *pair, remote netip.AddrPort, proposal provider.Proposal) {
	n.mu.Lock()
	n.bind(p)
	fault, at := n.faults[remote.Addr()], n.points[remote]
	host, left := n.hosts[remote.Addr()], n.left[remote.Addr()]
	n.mu.Unlock()
	switch {
	case fault == FaultSilence:
	case fault == FaultTransport:
		p.device.send(frame{kind: frameFailed, to: p, why: provider.FailureRefused, err: errReset})
	case host == nil && !left:
		p.device.send(frame{kind: frameFailed, to: p, why: provider.FailureUnreachable, err: errNoHost})
	case at == nil:
		p.contacted = true
		p.device.send(frame{kind: frameFailed, to: p, why: provider.FailureRefused, err: verbs.ErrNotListening})
	default:
		p.contacted = true
		host.send(frame{kind: frameRequest, point: at, from: p, source: p.local, proposal: proposal})
	}
}

// broke makes both ends of a connection see that it failed.
func (n *Network) broke(local netip.AddrPort) {
	n.mu.Lock()
	p := n.pairs[local]
	n.mu.Unlock()
	if p != nil {
		p.device.send(frame{kind: frameCut, to: p})
	}
}

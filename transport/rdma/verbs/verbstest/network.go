package verbstest

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Style is the RDMA technology that a Network imitates.
type Style uint8

const (
	// StyleIWARP delivers private data without padding. A message that finds no receive ends the
	// connection. The active side has to send the first message. A Send or Write completes as soon
	// as it has been sent.
	StyleIWARP Style = iota
	// StyleInfiniBand pads private data, sends the connection's parameters to the peer, retries
	// messages that find no receive (RNR), and has immediate data and atomics. The peer
	// acknowledges only signalled requests. An acknowledgement completes its request and all
	// requests before it.
	StyleInfiniBand
)

// Network connects adapters within the process. A frame goes into the inbox of the receiving
// device, and the next Progress of this device handles the frame. A Network has no goroutines. The
// mutex of the Network and the mutexes of the inboxes are the innermost locks, and are held only
// for a short time.
type Network struct {
	style Style

	mu     sync.Mutex
	hosts  map[netip.Addr]*device
	points map[netip.AddrPort]*point
	pairs  map[netip.AddrPort]*pair
	faults map[netip.Addr]Fault
	// left holds the hosts whose adapter was closed. Such a host can still be reached, and refuses
	// connections, because nothing listens on it.
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
	// QoS replaces the adapter's list of qualities of service if QoS is not nil.
	QoS []verbs.QoS
	// Multipath and PinsMemory are the adapter's Attributes with these names. PinMost is the
	// maximum number of bytes that are registered at a time. 0 means that there is no maximum.
	Multipath, PinsMemory bool
	PinMost               int
	// SinksAreWritable is the field of the adapter's Attributes with this name.
	SinksAreWritable bool
}

var _ verbs.Provider = (*Host)(nil)

// Name returns "memory".
func (h *Host) Name() string { return "memory" }

// Interfaces returns the address of the host.
func (h *Host) Interfaces() ([]string, error) { return []string{h.Addr.String()}, nil }

// Open opens the interface. Only one adapter may be open at an address.
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

// attributes returns the attributes of a host.
func attributes(style Style, addr netip.Addr, qos []verbs.QoS) verbs.Attributes {
	if qos == nil {
		qos = []verbs.QoS{verbs.QoSBestEffort, verbs.QoSLowLatency}
	}
	// All limits of the adapter are different, so that a test fails if the code uses the wrong
	// limit.
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

// send puts a frame into the inbox of a device and wakes the device. If the device is closed,
// send discards the frame.
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

// bind assigns a free port of its host to a queue pair. The caller holds the mutex of the network.
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

// broke makes a connection fail at both ends. local is the address of its active end.
func (n *Network) broke(local netip.AddrPort) {
	n.mu.Lock()
	p := n.pairs[local]
	n.mu.Unlock()
	if p != nil {
		p.device.send(frame{kind: frameCut, to: p})
	}
}

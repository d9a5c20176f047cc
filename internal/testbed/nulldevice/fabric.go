package nulldevice

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Name is the name of the provider.
const Name = "null"

// Fabric connects the adapters of one process. Its mutex is taken last, and never while a
// message is sent.
type Fabric struct {
	mu     sync.Mutex
	hosts  map[netip.Addr]*device
	points map[netip.AddrPort]*point
	port   uint16
}

// NewFabric returns a fabric without hosts.
func NewFabric() *Fabric {
	return &Fabric{hosts: map[netip.Addr]*device{}, points: map[netip.AddrPort]*point{}, port: portFirst}
}

// portFirst is where ports begin that nobody asked for (RFC 6335 section 6).
const portFirst = 49152

// Host is a provider with one interface, at one address of a Fabric.
type Host struct {
	Fabric *Fabric
	Addr   netip.Addr
	// Discard says that Reads and Writes are checked and completed but move no bytes, so that
	// a benchmark of large ones sees what they cost beside the copy.
	Discard bool
	// Carried, if it is not nil, is called when a request of this host has been carried out,
	// while it is posted: an adapter would have been told of it then.
	Carried func()
	// Rate is that of a link in bytes per second, over which the completions of requests come no
	// sooner than their bytes would. The goroutine that waits for them does not sleep. 0 is a
	// link without a limit.
	Rate float64
}

var _ provider.Provider = (*Host)(nil)

// Name implements provider.Provider.
func (h *Host) Name() string { return Name }

// Interfaces returns the address.
func (h *Host) Interfaces() ([]string, error) { return []string{h.Addr.String()}, nil }

// Open opens the interface. Two may not be open at one address.
func (h *Host) Open(_ string, a provider.Adapter) (provider.Device, error) {
	f := h.Fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts[h.Addr] != nil {
		return nil, provider.ErrInsufficientResources
	}
	d := &device{
		fabric: f, adapter: a, addr: h.Addr, discard: h.Discard, carried: h.Carried, rate: h.Rate, attributes: attributes(h.Addr),
		regions: map[uint32]*region{}, awake: make(chan struct{}, 1),
	}
	f.hosts[h.Addr] = d
	return d, nil
}

// attributes are those of a host. No two limits are equal, so that none is taken for another.
func attributes(addr netip.Addr) provider.Attributes {
	return provider.Attributes{
		Provider: Name, Interface: addr.String(), Transport: "copies within the process",
		Services: []provider.Service{provider.ServiceReliable}, QoS: []provider.QoS{provider.QoSBestEffort},
		MaxMessage: 1 << 30, MaxRDMA: 1 << 31, MaxRequests: 4095, MaxReceives: 4094, MaxSegments: 8, MaxReadSegments: 7,
		MaxInline: 128, MaxReadsIn: 32, MaxReadsOut: 24, MaxSharedReceives: 1 << 15, MaxCompletions: 1 << 20,
		MaxRequestData: 508, MaxAcceptData: 507, MaxRejectData: 506, HoldsReads: true, CarriesConnParam: true,
		ImmediateData: true, Atomics: true,
		Endpoint: provider.EndpointAttributes{
			MaxMessage: 1 << 20, MaxRDMA: 1 << 29, MaxReceives: 16, MaxRequests: 16, MaxReceiveSegments: 2, MaxRequestSegments: 2,
			ReadsIn: 8, ReadsOut: 6,
		},
	}
}

var (
	errNoHost    = errors.New("no such host")
	errNoPoint   = errors.New("nothing listens there")
	errReset     = errors.New("connection reset")
	errNoReceive = errors.New("no receive was posted")
)

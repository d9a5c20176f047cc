package nulldevice

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Name is the name of the provider.
const Name = "null"

// Fabric connects adapters of one process. Its mutex is the innermost lock: no other lock is acquired
// while the mutex is held. The path of a message does not acquire the mutex.
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

// portFirst is the first of the dynamic ports (RFC 6335 section 6). A dynamic port is assigned if the consumer
// does not ask for a certain port.
const portFirst = 49152

// Host is a provider with one interface, which has the address Addr on Fabric.
type Host struct {
	Fabric *Fabric
	Addr   netip.Addr
	// If Discard is true, RDMA Reads and Writes by peers of this host are validated and completed, but move no bytes.
	// A benchmark of large transfers then measures their cost without the copy.
	Discard bool
	// Carried may be nil. Otherwise it is called after the host has tried to execute a request at the peer, during the
	// call that posts the request. At this time, a hardware adapter would be notified of the request.
	Carried func()
	// Rate is the rate of an emulated link in bytes per second. A request completes no sooner than
	// the link would have carried its bytes. The goroutine that waits for such a completion polls
	// and does not sleep. 0 means a link without a limit.
	Rate float64
}

var _ provider.Provider = (*Host)(nil)

// Name implements provider.Provider.
func (h *Host) Name() string { return Name }

// Interfaces returns the name of the only interface, which is its address.
func (h *Host) Interfaces() ([]string, error) { return []string{h.Addr.String()}, nil }

// Open opens the interface. It returns ErrInsufficientResources if an interface with the same
// address is already open on the Fabric.
func (h *Host) Open(string, provider.Adapter) (provider.Device, error) {
	f := h.Fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts[h.Addr] != nil {
		return nil, provider.ErrInsufficientResources
	}
	d := &device{
		fabric: f, addr: h.Addr, discard: h.Discard, carried: h.Carried, rate: h.Rate, attributes: attributes(h.Addr),
		regions: map[uint32]*region{}, awake: make(chan struct{}, 1),
	}
	f.hosts[h.Addr] = d
	return d, nil
}

// attributes returns the attributes of the adapter at addr. All limits of the adapter differ, so that a test
// notices if code uses one limit in place of another.
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

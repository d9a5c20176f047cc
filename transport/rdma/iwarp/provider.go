package iwarp

import (
	"crypto/tls"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/journal"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Name is the name of the provider.
const Name = "iwarp"

// Provider is iWARP over TCP. It is safe for concurrent use.
type Provider struct {
	config   Config
	counters Counters
	// secure holds the configurations of TLS, or nil without TLS.
	secure atomic.Pointer[secured]
	// strange limits the log to the first stranger.
	strange sync.Once
	// log passes its lines to Config.Log on a goroutine of its own, because this package logs under
	// the locks of adapters.
	log *journal.Journal
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider { return &Provider{config: c.populate(), log: journal.New(c.Log)} }

// secured holds the configurations of TLS. passive is the configuration for all connections that
// peers request from this side. active returns a new configuration for each connection that this
// side requests.
type secured struct {
	passive *tls.Config
	active  func() *tls.Config
}

// Secure switches TLS on for all connections that begin after the call. These connections use the CRC
// only if the peer asks for it. A connection whose peer does not use TLS is dropped. passive is the
// configuration for all connections that peers request. active returns the configuration for one
// connection that this side requests.
func (p *Provider) Secure(passive *tls.Config, active func() *tls.Config) {
	p.secure.Store(&secured{passive, active})
}

// withoutCRC reports whether this side needs no CRC32C, because Config.NoCRC is set or TLS protects
// the connections.
func (p *Provider) withoutCRC() bool { return p.config.NoCRC || p.secure.Load() != nil }

// Name implements provider.Provider.
func (p *Provider) Name() string { return Name }

// Counters returns the counters of all devices of the provider.
func (p *Provider) Counters() *Counters { return &p.counters }

// Interfaces lists the names of the network interfaces that are up and have an address, loopback
// last.
func (p *Provider) Interfaces() ([]string, error) { return interfaceNames() }

// Open opens a network interface. name is the name of the interface, an address of the interface,
// or a prefix (CIDR) that contains an address of the interface. Connections, and listeners for which
// the consumer has chosen no address, are bound to addresses of the interface, never to all addresses
// of the host. If no interface matches, the error wraps ErrNoInterface.
func (p *Provider) Open(name string, a provider.Adapter) (provider.Device, error) {
	found, err := findAddresses(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInvalidParameter, err)
	}
	return newDevice(p, name, found, a)
}

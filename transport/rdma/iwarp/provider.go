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
	// secure is TLS, or nil.
	secure atomic.Pointer[secured]
	// strange says that the first stranger has been logged.
	strange sync.Once
	// log is where: it is written to under the locks of adapters.
	log *journal.Journal
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider { return &Provider{config: c.populate(), log: journal.New(c.Log)} }

// secured are the configurations of TLS: for connections that peers ask for, and, made anew for
// each, for those that they are asked for.
type secured struct {
	passive *tls.Config
	active  func() *tls.Config
}

// Secure encrypts every connection from now on by TLS and does without CRC; what does not speak
// TLS is dropped. passive is for all connections that peers ask for, active returns the
// configuration for one that they are asked for.
func (p *Provider) Secure(passive *tls.Config, active func() *tls.Config) {
	p.secure.Store(&secured{passive, active})
}

// withoutCRC reports whether connections can do without CRC32C.
func (p *Provider) withoutCRC() bool { return p.config.NoCRC || p.secure.Load() != nil }

// Name implements provider.Provider.
func (p *Provider) Name() string { return Name }

// Counters returns the counters of all devices of the provider.
func (p *Provider) Counters() *Counters { return &p.counters }

// Interfaces lists the network interfaces that are up and have an address, loopback
// last.
func (p *Provider) Interfaces() ([]string, error) { return interfaceNames() }

// Open opens a network interface, named by its name, by one of its addresses, or by
// a prefix (CIDR) that contains one. Listeners and connections are bound to its
// addresses, never to all of the machine's. The error wraps ErrNoInterface.
func (p *Provider) Open(name string, a provider.Adapter) (provider.Device, error) {
	found, err := findAddresses(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInvalidParameter, err)
	}
	return newDevice(p, name, found, a)
}

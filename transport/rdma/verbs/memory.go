package verbs

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Access is what may be done with a memory region beside reading it locally.
type Access = provider.Access

// The rights of Register. They can be combined.
const (
	// AccessLocalWrite lets receives, Reads and atomics of this side fill the memory.
	AccessLocalWrite = provider.AccessLocalWrite
	// AccessRemoteRead lets the peer's Reads.
	AccessRemoteRead = provider.AccessRemoteRead
	// AccessRemoteWrite lets the peer's Writes. It needs AccessLocalWrite.
	AccessRemoteWrite = provider.AccessRemoteWrite
	// AccessRemoteAtomic lets the peer's atomics. It needs AccessLocalWrite, and
	// Attributes.Atomics.
	AccessRemoteAtomic = provider.AccessRemoteAtomic
)

const (
	// accessWrite are the rights that need AccessLocalWrite.
	accessWrite = AccessRemoteWrite | AccessRemoteAtomic
	// accessAll are all bits that mean something.
	accessAll = AccessLocalWrite | AccessRemoteRead | accessWrite
)

// ProtectionDomain ties memory and endpoints together (DAT_PZ): neither posted
// requests nor peers reach memory of another domain.
type ProtectionDomain struct {
	adapter *Adapter
	domain  provider.ProtectionDomain
	// users counts regions, shared receive queues and endpoints.
	users int
	freed bool
}

// NewProtectionDomain makes a protection domain.
func (a *Adapter) NewProtectionDomain() (*ProtectionDomain, error) {
	a.mu.Lock()
	defer a.unlock()
	if a.closed {
		return nil, a.err("new protection domain", ErrInvalidHandle)
	}
	domain, err := a.device.NewProtectionDomain()
	if err != nil {
		return nil, a.err("new protection domain", err)
	}
	d := &ProtectionDomain{adapter: a, domain: domain}
	a.domains[d] = struct{}{}
	return d, nil
}

// Free ends the domain. It is ErrInvalidState while regions or endpoints are in it.
func (d *ProtectionDomain) Free() error {
	if d == nil {
		return &OpError{Op: "free protection domain", Fault: ErrInvalidHandle}
	}
	a := d.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case d.freed || a.closed:
		return a.err("free protection domain", ErrInvalidHandle)
	case d.users > 0:
		return a.err("free protection domain", ErrInvalidState)
	}
	d.freed = true
	delete(a.domains, d)
	if err := d.domain.Close(); err != nil {
		return a.err("free protection domain", err)
	}
	return nil
}

// valid reports whether the domain can be used on an adapter.
func (d *ProtectionDomain) valid(a *Adapter) bool { return d != nil && d.adapter == a && !d.freed }

// MemoryRegion is registered memory (DAT_LMR), and what its owner grants to peers
// (DAT_RMR).
type MemoryRegion struct {
	domain *ProtectionDomain
	data   []byte
	access Access
	keys   provider.Registered
	closed bool
}

// Register makes b usable in posted requests of the domain's endpoints and, as
// access says, by their peers. The region keeps b alive. An empty b is
// ErrInvalidParameter, as is a right of peers to write without AccessLocalWrite.
// Registrations may take long, where memory has to be pinned; other calls go on meanwhile.
func (d *ProtectionDomain) Register(b []byte, access Access) (*MemoryRegion, error) {
	const op = "register memory"
	if d == nil {
		return nil, &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := d.adapter
	if err := d.reserve(b, access); err != nil {
		return nil, a.err(op, err)
	}
	defer a.registering.Done()
	keys, err := d.domain.Register(b, access)
	a.mu.Lock()
	defer a.unlock()
	if err != nil {
		d.users--
		return nil, a.err(op, err)
	}
	m := &MemoryRegion{domain: d, data: b[:len(b):len(b)], access: access, keys: keys}
	a.regions[keys.LKey] = m
	return m, nil
}

// reserve checks the arguments of Register and holds a place for the region: until it is
// there, neither the domain nor the adapter can end.
func (d *ProtectionDomain) reserve(b []byte, access Access) error {
	a := d.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case d.freed || a.closed:
		return ErrInvalidHandle
	case len(b) == 0, access&^accessAll != 0, access&accessWrite != 0 && access&AccessLocalWrite == 0:
		return ErrInvalidParameter
	case access&AccessRemoteAtomic != 0 && !a.limits.Atomics:
		return fmt.Errorf("%w: %w", ErrModelNotSupported, errNoAtomics)
	}
	d.users++
	a.registering.Add(1)
	return nil
}

// Bytes returns the registered memory.
func (m *MemoryRegion) Bytes() []byte { return m.data }

// LKey returns the key of Segment.
func (m *MemoryRegion) LKey() uint32 { return m.keys.LKey }

// Segment returns n bytes at off as a segment. It panics when they are not within.
func (m *MemoryRegion) Segment(off, n int) Segment {
	return Segment{Data: m.data[off : off+n : off+n], LKey: m.keys.LKey}
}

// Remote returns the name by which peers reach n bytes at off. It panics when they
// are not within.
func (m *MemoryRegion) Remote(off, n int) RemoteRegion {
	_ = m.data[off : off+n]
	return RemoteRegion{Address: m.keys.Address + uint64(off), RKey: m.keys.RKey, Length: n}
}

// Close deregisters the memory. When it returns, no peer touches it any more. The
// consumer closes a region when no posted request refers to it; one that does
// anyway may still touch the memory, which stays alive until then.
func (m *MemoryRegion) Close() error {
	if m == nil {
		return &OpError{Op: "deregister memory", Fault: ErrInvalidHandle}
	}
	a := m.domain.adapter
	if !m.retire() {
		return a.err("deregister memory", ErrInvalidHandle)
	}
	defer a.registering.Done()
	err := m.domain.domain.Deregister(m.keys)
	a.mu.Lock()
	defer a.unlock()
	m.domain.users--
	if err != nil {
		return a.err("deregister memory", err)
	}
	return nil
}

// retire takes a region out of use, or reports that it is closed already. Neither the domain
// nor the adapter can end before its memory is deregistered.
func (m *MemoryRegion) retire() bool {
	a := m.domain.adapter
	a.mu.Lock()
	defer a.unlock()
	if m.closed || a.closed {
		return false
	}
	m.closed = true
	delete(a.regions, m.keys.LKey)
	if r := a.recentRegion(m.keys.LKey); *r == m {
		*r = nil
	}
	a.registering.Add(1)
	return true
}

// recentRegions is the number of places for regions that are found without a look into the
// map. Keys may be random (iwarp's are): two regions in use share a place in 1 of 256 cases.
const recentRegions = 256

// recentRegion returns where a region with that key is, if it was looked up last.
func (a *Adapter) recentRegion(key uint32) **MemoryRegion { return &a.recent[key%recentRegions] }

// check finds the fault of using s with the access needed in a domain, or nil.
func (a *Adapter) check(s *Segment, d *ProtectionDomain, need Access) error {
	r := a.recentRegion(s.LKey)
	m := *r
	if m == nil || m.keys.LKey != s.LKey {
		var ok bool
		if m, ok = a.regions[s.LKey]; !ok {
			return ErrPrivilegesViolation
		}
		*r = m
	}
	switch {
	case m.domain != d || !contains(m.data, s.Data):
		return ErrProtectionViolation
	case m.access&need != need:
		return ErrPrivilegesViolation
	}
	return nil
}

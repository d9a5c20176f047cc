package verbs

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Access is the set of operations that a memory region allows besides local reads.
type Access = provider.Access

// The rights of Register. They can be combined.
const (
	// AccessLocalWrite allows receives, Reads and atomics of this side to write to the memory.
	AccessLocalWrite = provider.AccessLocalWrite
	// AccessRemoteRead allows the peer's Reads.
	AccessRemoteRead = provider.AccessRemoteRead
	// AccessRemoteWrite allows the peer's Writes. It needs AccessLocalWrite.
	AccessRemoteWrite = provider.AccessRemoteWrite
	// AccessRemoteAtomic allows the peer's atomics. It needs AccessLocalWrite and an adapter
	// with Attributes.Atomics.
	AccessRemoteAtomic = provider.AccessRemoteAtomic
)

const (
	// accessWrite contains the rights that need AccessLocalWrite.
	accessWrite = AccessRemoteWrite | AccessRemoteAtomic
	// accessAll contains all defined rights.
	accessAll = AccessLocalWrite | AccessRemoteRead | accessWrite
)

// ProtectionDomain ties memory and endpoints together (DAT_PZ): neither an endpoint's posted
// requests nor its peer can access memory of another domain.
type ProtectionDomain struct {
	adapter *Adapter
	domain  provider.ProtectionDomain
	// users is the number of regions, shared receive queues and endpoints of the domain.
	users int
	freed bool
}

// NewProtectionDomain makes a protection domain.
func (a *Adapter) NewProtectionDomain() (*ProtectionDomain, error) {
	a.mu.Lock()
	defer a.unlock()
	if a.closed || a.failure != nil {
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

// Free ends the domain. It fails with ErrInvalidState while regions, shared receive queues or
// endpoints are in it.
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

// MemoryRegion is registered memory (DAT_LMR) together with the access that its owner grants
// to peers (DAT_RMR).
type MemoryRegion struct {
	domain *ProtectionDomain
	data   []byte
	access Access
	keys   provider.Registered
	closed bool
}

// Register makes the memory b usable in posted requests of the domain's endpoints. The peers of
// these endpoints can use b within the rights in access. The region keeps b reachable. Register
// fails with ErrInvalidParameter if b is empty, or if access has an undefined right, or
// AccessRemoteWrite or AccessRemoteAtomic without AccessLocalWrite, or if the provider cannot register
// this memory. It fails with ErrModelNotSupported if access has AccessRemoteAtomic and the adapter has
// no atomics. It fails with ErrInsufficientResources if the registration can succeed after other memory
// was deregistered.
// A registration may take a long time if memory has to be pinned. Other calls can proceed during a
// registration.
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

// reserve checks the arguments of Register and counts the region in advance. Until the region
// is registered, the domain cannot be freed, and Adapter.Close waits.
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

// LKey returns the local key of the region, for Segment.LKey.
func (m *MemoryRegion) LKey() uint32 { return m.keys.LKey }

// Segment returns the n bytes at offset off as a segment. It panics if the bytes are not within the
// region.
func (m *MemoryRegion) Segment(off, n int) Segment {
	return Segment{Data: m.data[off : off+n : off+n], LKey: m.keys.LKey}
}

// Remote returns the address and the remote key by which peers access the n bytes at offset off. It
// panics if the bytes are not within the region.
func (m *MemoryRegion) Remote(off, n int) RemoteRegion {
	_ = m.data[off : off+n]
	return RemoteRegion{Address: m.keys.Address + uint64(off), RKey: m.keys.RKey, Length: n}
}

// Close deregisters the memory. When Close returns, no peer accesses the memory any more. The
// consumer must not close a region before the posted requests that refer to it have completed. A
// request that still refers to the region may continue to access the memory. The memory stays
// reachable until the request completes.
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

// retire removes the region from the adapter's tables. It returns false if the region or the
// adapter is already closed. Until the memory is deregistered, the domain cannot be freed, and
// Adapter.Close waits.
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

// recentRegions is the number of slots of Adapter.recent, a direct-mapped cache of Adapter.regions.
// If keys are random, as in package iwarp, any two regions in use share a slot with a probability
// of 1/256.
const recentRegions = 256

// recentRegion returns the cache slot for a key. If several regions have the same slot, the slot
// holds the region that was looked up last.
func (a *Adapter) recentRegion(key uint32) **MemoryRegion { return &a.recent[key%recentRegions] }

// check returns nil if a request of domain d may use the segment s with the given access right.
// Otherwise it returns the fault.
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

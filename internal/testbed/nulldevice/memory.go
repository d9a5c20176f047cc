package nulldevice

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// region is a registered memory region. The key of the device's n-th region is n*keyStep, from n = 1
// on. The address of the region's first byte has the key in its upper half and 0 in its lower half.
type region struct {
	domain *domain
	data   []byte
	access provider.Access
	// revoked is true after a peer's Send with Invalidate. Peers may then no longer access the region.
	revoked bool
}

const (
	keyStep     = 0x101
	addressBits = 32
)

// domain is a protection domain.
type domain struct{ device *device }

// NewProtectionDomain implements provider.Device.
func (d *device) NewProtectionDomain() (provider.ProtectionDomain, error) { return &domain{d}, nil }

// Register implements provider.ProtectionDomain.
func (d *domain) Register(data []byte, access provider.Access) (provider.Registered, error) {
	on := d.device
	on.wire.Lock()
	defer on.wire.Unlock()
	on.key += keyStep
	on.regions[on.key] = &region{domain: d, data: data, access: access}
	return provider.Registered{LKey: on.key, RKey: on.key, Address: uint64(on.key) << addressBits}, nil
}

// Deregister implements provider.ProtectionDomain.
func (d *domain) Deregister(r provider.Registered) error {
	d.device.wire.Lock()
	defer d.device.wire.Unlock()
	if known := d.device.regions[r.LKey]; known == nil || known.domain != d {
		return provider.ErrInvalidHandle
	}
	delete(d.device.regions, r.LKey)
	return nil
}

// Close implements provider.ProtectionDomain.
func (d *domain) Close() error { return nil }

// reach returns the n bytes at the given address of the region with the given key, for a request of a peer.
// The argument named "of" is the protection domain of the queue pair to which the peer is connected. reach
// returns false if the peer has no access of the kind need to these bytes. The caller holds the mutex wire of
// the device.
func (d *device) reach(of *domain, key uint32, address uint64, n int, need provider.Access) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	r := d.regions[key]
	off := address - uint64(key)<<addressBits
	if r == nil || r.revoked || r.domain != of || r.access&need == 0 || off > uint64(len(r.data)) || uint64(n) > uint64(len(r.data))-off {
		return nil, false
	}
	return r.data[off : off+uint64(n)], true
}

// revoke invalidates a key for the peers that are connected to queue pairs of a protection domain (the argument
// "of"). It returns false if these peers cannot use the key. The caller holds the mutex wire of the device.
func (d *device) revoke(of *domain, key uint32) bool {
	r := d.regions[key]
	if r == nil || r.revoked || r.domain != of {
		return false
	}
	r.revoked = true
	return true
}

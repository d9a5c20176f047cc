package nulldevice

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// region is registered memory. A key is a number of the device times keyStep, and the address
// of its first byte is the key in the upper half.
type region struct {
	domain *domain
	data   []byte
	access provider.Access
	// revoked says that a peer's Send has ended what peers may do.
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
	delete(d.device.regions, r.LKey)
	return nil
}

// Close implements provider.ProtectionDomain.
func (d *domain) Close() error { return nil }

// reach returns n bytes that a peer of a domain names, or false if it may not have them. The
// wire is locked.
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

// revoke ends what peers may do by a key, or returns false if it is not theirs. The wire is
// locked.
func (d *device) revoke(of *domain, key uint32) bool {
	r := d.regions[key]
	if r == nil || r.revoked || r.domain != of {
		return false
	}
	r.revoked = true
	return true
}

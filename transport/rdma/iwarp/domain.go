package iwarp

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// domain is a protection domain. Domains are compared by address.
type domain struct{ device *device }

var _ provider.ProtectionDomain = (*domain)(nil)

// NewProtectionDomain implements provider.Device.
func (d *device) NewProtectionDomain() (provider.ProtectionDomain, error) {
	return &domain{device: d}, nil
}

// Register implements provider.ProtectionDomain. It does not pin the memory.
func (d *domain) Register(data []byte, access provider.Access) (provider.Registered, error) {
	d.device.adapter.Lock()
	defer d.device.adapter.Unlock()
	m, err := d.device.regions.add(d, data, access)
	if err != nil {
		return provider.Registered{}, err
	}
	return provider.Registered{LKey: m.stag, RKey: m.stag, Address: m.address}, nil
}

// Deregister implements provider.ProtectionDomain. If a batch (see batch.go) contains unwritten
// bytes of the memory, for example of a partly written Read Response, Deregister replaces them with
// a copy. So the caller may free the memory at once.
func (d *domain) Deregister(r provider.Registered) error {
	d.device.adapter.Lock()
	defer d.device.adapter.Unlock()
	m := d.device.regions.find(r.LKey)
	if m == nil {
		return provider.ErrInvalidHandle
	}
	d.device.regions.remove(m)
	for p := range d.device.pairs {
		p.tx.detach(m.data)
	}
	return nil
}

// Close implements provider.ProtectionDomain.
func (d *domain) Close() error { return nil }

package kernel

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// domain is a protection domain.
type domain struct {
	device *device
	domain *uverbs.ProtectionDomain
	// mu guards regions: memory is registered without the adapter's lock.
	mu      sync.Mutex
	regions map[uint32]*region
}

// region is registered memory. It is pinned for Go's collector as it is for the kernel.
type region struct {
	*uverbs.Region
	pin goruntime.Pinner
}

var _ provider.ProtectionDomain = (*domain)(nil)

// NewProtectionDomain implements provider.Device.
func (d *device) NewProtectionDomain() (provider.ProtectionDomain, error) {
	pd, err := d.context.NewProtectionDomain()
	if err != nil {
		return nil, err
	}
	return &domain{device: d, domain: pd, regions: map[uint32]*region{}}, nil
}

// Register implements provider.ProtectionDomain.
func (d *domain) Register(data []byte, access provider.Access) (provider.Registered, error) {
	rights := uverbs.AccessRelaxedOrdering
	for from, to := range map[provider.Access]uverbs.Access{
		provider.AccessLocalWrite: uverbs.AccessLocalWrite, provider.AccessRemoteRead: uverbs.AccessRemoteRead,
		provider.AccessRemoteWrite: uverbs.AccessRemoteWrite, provider.AccessRemoteAtomic: uverbs.AccessRemoteAtomic,
	} {
		if access&from != 0 {
			rights |= to
		}
	}
	r := &region{}
	r.pin.Pin(&data[0])
	var err error
	if r.Region, err = d.domain.Register(data, rights); err != nil {
		r.pin.Unpin()
		return provider.Registered{}, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	d.mu.Lock()
	d.regions[r.LKey] = r
	d.mu.Unlock()
	return provider.Registered{LKey: r.LKey, RKey: r.RKey, Address: r.Address}, nil
}

// Deregister implements provider.ProtectionDomain.
func (d *domain) Deregister(keys provider.Registered) error {
	d.mu.Lock()
	r := d.regions[keys.LKey]
	delete(d.regions, keys.LKey)
	d.mu.Unlock()
	if r == nil {
		return provider.ErrInvalidHandle
	}
	if err := r.Close(); err != nil {
		return err // the memory stays pinned: the device may use it
	}
	r.pin.Unpin()
	return nil
}

// Close implements provider.ProtectionDomain. What a lingering queue pair needs goes with the
// process, as in Close of the device.
func (d *domain) Close() error {
	lingers := d.device.lingering.Load() > 0
	err := d.domain.Close()
	if lingers && errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

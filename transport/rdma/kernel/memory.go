package kernel

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// domain is a protection domain.
type domain struct {
	device *device
	domain protection
	// mu guards regions, because Register and Deregister are called without the adapter's lock.
	mu      sync.Mutex
	regions map[uint32]io.Closer
}

var _ provider.ProtectionDomain = (*domain)(nil)

// NewProtectionDomain implements provider.Device.
func (d *device) NewProtectionDomain() (provider.ProtectionDomain, error) {
	pd, err := d.context.newDomain()
	if err != nil {
		return nil, err
	}
	return &domain{device: d, domain: pd, regions: map[uint32]io.Closer{}}, nil
}

// rights maps the access rights of package provider to the access rights of package uverbs.
var rights = [...]struct {
	of provider.Access
	is uverbs.Access
}{
	{provider.AccessLocalWrite, uverbs.AccessLocalWrite},
	{provider.AccessRemoteRead, uverbs.AccessRemoteRead},
	{provider.AccessRemoteWrite, uverbs.AccessRemoteWrite},
	{provider.AccessRemoteAtomic, uverbs.AccessRemoteAtomic},
}

// Register implements provider.ProtectionDomain. If pinning fails with ENOMEM or EPERM, Register
// registers the memory for on-demand paging, provided that the device supports on-demand paging and that
// access does not contain AccessRemoteAtomic (OnDemand does not say whether paged memory can be used for
// atomics). With on-demand paging, an access to a page that is not resident delays the connection until the
// page is loaded. If the device refuses paging, too, the Fault is still that of pinning.
func (d *domain) Register(data []byte, access provider.Access) (provider.Registered, error) {
	asked := uverbs.AccessRelaxedOrdering
	if access&provider.AccessLocalWrite != 0 && d.device.attributes.SinksAreWritable {
		asked |= uverbs.AccessRemoteWrite
	}
	for _, r := range rights {
		if access&r.of != 0 {
			asked |= r.is
		}
	}
	keys, region, err := d.domain.register(data, asked)
	fault := faultOf(err)
	if d.device.onDemand && access&provider.AccessRemoteAtomic == 0 && (errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EPERM)) {
		keys, region, err = d.domain.register(data, asked|uverbs.AccessOnDemand)
	}
	if err != nil {
		return keys, fmt.Errorf("%w: %w", fault, err)
	}
	d.mu.Lock()
	d.regions[keys.LKey] = region
	d.mu.Unlock()
	return keys, nil
}

// faultOf returns the Fault for the error of a registration that pins memory. If resources are exhausted, the
// same registration can succeed later. Otherwise the kernel cannot register this memory at all, for example
// because it is not mapped (EFAULT) or because the pages of its file cannot be pinned (EOPNOTSUPP).
func faultOf(err error) provider.Fault {
	for _, exhausted := range [...]unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.ENOSPC} {
		if errors.Is(err, exhausted) {
			return provider.ErrInsufficientResources
		}
	}
	return provider.ErrInvalidParameter
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
	return r.Close() // after an error the memory stays pinned, because the device may still access it
}

// pinnedMost returns the number of bytes that the process may have registered at a time. It returns
// 0 if there is no limit, and 1 if the limit is 0. The limit is RLIMIT_MEMLOCK, and the kernel applies it
// only to a process without CAP_IPC_LOCK in the initial user namespace (ib_umem_get). siw applies the limit
// to every process (siw_reg_user_mr, siw_umem_get).
func pinnedMost(driver uverbs.Driver) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil || limit.Cur > math.MaxInt {
		return 0
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var capabilities [2]unix.CapUserData
	if driver != uverbs.DriverSIW && unix.Capget(&header, &capabilities[0]) == nil &&
		capabilities[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0 && inInitialUserNamespace() {
		return 0
	}
	return max(int(limit.Cur), 1)
}

// initialUserNamespace is the inode number of the initial user namespace (PROC_USER_INIT_INO in
// include/linux/proc_ns.h).
const initialUserNamespace = 0xEFFFFFFD

// inInitialUserNamespace returns true if the process is in the initial user namespace, and also if this cannot
// be determined. The capabilities of a process in another user namespace, for example in a rootless container, do not
// hold for the kernel's check.
func inInitialUserNamespace() bool {
	var s unix.Stat_t
	return unix.Stat("/proc/self/ns/user", &s) != nil || s.Ino == initialUserNamespace
}

// Close implements provider.ProtectionDomain. If a queue pair that the kernel cannot destroy yet
// still uses the domain, the domain is closed with the device.
func (d *domain) Close() error {
	lingers := len(d.device.left) > 0 || d.device.lingering.Load() > 0
	err := d.domain.Close()
	if lingers && errors.Is(err, unix.EBUSY) {
		d.device.left = append(d.device.left, d.domain)
		return nil
	}
	return err
}

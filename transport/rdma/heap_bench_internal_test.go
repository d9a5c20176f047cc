package rdma

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// locking is a provider whose registrations lock their pages with mlock. Locking costs the kernel about as much
// as pinning pages for an adapter: a walk over the pages, and their accounting. Only the work of the adapter
// itself is missing.
type locking struct{ provider.Provider }

type lockingDevice struct{ provider.Device }

type lockingDomain struct {
	provider.ProtectionDomain
	mu     sync.Mutex
	locked map[uint32][]byte
}

func (l locking) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := l.Provider.Open(name, a)
	return lockingDevice{d}, err
}

func (d lockingDevice) NewProtectionDomain() (provider.ProtectionDomain, error) {
	pd, err := d.Device.NewProtectionDomain()
	return &lockingDomain{ProtectionDomain: pd, locked: map[uint32][]byte{}}, err
}

func (d *lockingDomain) Register(b []byte, access provider.Access) (provider.Registered, error) {
	if err := unix.Mlock(b); err != nil {
		return provider.Registered{}, err
	}
	keys, err := d.ProtectionDomain.Register(b, access)
	d.mu.Lock()
	d.locked[keys.LKey] = b
	d.mu.Unlock()
	return keys, err
}

func (d *lockingDomain) Deregister(keys provider.Registered) error {
	d.mu.Lock()
	b := d.locked[keys.LKey]
	delete(d.locked, keys.LKey)
	d.mu.Unlock()
	_ = unix.Munlock(b) // locks do not nest: this also unlocks other pieces in the same pages
	return d.ProtectionDomain.Deregister(keys)
}

// BenchmarkHeapMemory measures the overhead at one end of a transfer of heap memory, without the transfer. One
// variant registers the memory for the operation, one finds the memory registered, and one copies the bytes.
func BenchmarkHeapMemory(b *testing.B) {
	addr := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	host := &verbstest.Host{Network: verbstest.NewNetwork(verbstest.StyleInfiniBand), Addr: addr, PinsMemory: true}
	a, err := verbs.Open(locking{host}, "")
	require.NoError(b, err)
	domain, err := a.NewProtectionDomain()
	require.NoError(b, err)
	limits := a.Attributes()
	r, err := newRegistrations(domain, &limits, newPinned(nil), nil, 0)
	if err != nil {
		b.Skipf("memory cannot be locked here: %v", err)
	}
	b.Logf("memory is copied below %d bytes", r.copyBelow)
	r.copyBelow = 0
	for _, n := range []int{16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20} {
		data, other := make([]byte, n), make([]byte, n)
		b.Run(fmt.Sprintf("registered/%dKiB", n>>10), func(b *testing.B) {
			for b.Loop() {
				g, err := r.alone(data, verbs.AccessLocalWrite)
				if err != nil || r.give(g) != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("found/%dKiB", n>>10), func(b *testing.B) {
			for b.Loop() {
				g, err := r.take(data, verbs.AccessLocalWrite)
				if err != nil || r.give(g) != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("copied/%dKiB", n>>10), func(b *testing.B) {
			for b.Loop() {
				copy(other, data)
			}
		})
	}
	require.NoError(b, a.Close())
	r.close()
}

package rdma

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// registrations manages the registered memory of a protection domain for operations and exposures. How
// memory is made accessible depends on where it is:
//
//	provider in software                 registered for the operation: an entry in a table
//	the rank's arena                     registered once, in whole chunks, which stay registered
//	other memory, short                  copied through bounces (staging buffers)
//	other memory, long                   registered, and pinned by the provider, for the
//	                                     operation; copied in parts if the provider refuses
//	Go's heap, long, used repeatedly     registered until two garbage collections have
//	                                     passed without a use, or until evicted (heap.go)
//	exposed to be written, in all cases  registered for the exposure alone: a key
//	                                     of more memory would let the peer write to more memory
//
// Only memory whose lifetime is known may stay registered. A program may unmap its memory at any time, and
// this package does not intercept the unmapping. The lifetime of two kinds of memory is known. The
// allocator of the arena tells pinnedArena which pages it returns to the operating system. The garbage
// collector does not free memory to which a registration refers.
type registrations struct {
	domain registrar
	// pins reports whether a registration pins pages, and is therefore costly. If pins is false, bounces and
	// arena are not used, and no memory stays registered.
	pins bool
	// copyBelow is the length in bytes at and above which a registration costs less than copies.
	copyBelow int
	bounces   bounces
	// arena is nil if there is no arena.
	arena transport.Arena
	// own are the access rights of the parts of the arena that operations of this side use. read are the
	// access rights of the parts whose keys are given to peers. If the adapter does not let peers write
	// with a key for own, own and read are the same, so that one registration serves both purposes.
	own, read verbs.Access
	// sinksAreWritable is the adapter's attribute SinksAreWritable.
	sinksAreWritable bool
	counts           registrationCounts

	// pool belongs to the transport. Its lock guards the fields below.
	pool    *pinned
	lasting []*lasting
	recent  *lasting
	bytes   int
	closed  bool
	// kept are the pieces of the heap that stay registered. noticed are the last pieces that were
	// registered for one operation.
	kept       []*lasting
	recentKept *lasting
	noticed    [noticedMost]span
	notices    int
}

// pinned is the memory that stays registered on all rails of a transport. The rails share it, because the
// operating system bounds the memory that a process may pin for all adapters together.
type pinned struct {
	// mu guards the other fields, and the lists of the memory that stays registered on each rail. The order of
	// locks is: the arena's own lock, mu, the lock of an adapter.
	mu sync.Mutex
	// bytes is the number of bytes that stay registered on all rails, and most is the upper bound
	// of bytes.
	bytes, most int
	rails       []*registrations
	clock       uint64
	// kept is that part of the field bytes that is in the heap. cycle counts collections while kept is
	// not 0. watching reports whether the next collection calls collected.
	kept     int
	cycle    uint64
	watching bool
}

// newPinned returns the pool that the rails share.
func newPinned(rails []*rail) *pinned {
	p := &pinned{most: math.MaxInt}
	for _, r := range rails {
		if a := &r.limits; a.PinsMemory && a.MaxPinned > 0 {
			p.most = min(p.most, a.MaxPinned/2) // the rest is for registrations for one operation, and for frames
		}
	}
	return p
}

// registrationCounts are the counters that ExplainMemory reports.
type registrationCounts struct{ found, lasting, single, copied, evicted, refused, kept, keptFound int }

// registration is memory that an operation or an exposure may use. The memory begins at offset off
// in region.
type registration struct {
	region *verbs.MemoryRegion
	off    int
	// lasting is the lasting registration to which region belongs. It is nil if region belongs to this
	// registration alone.
	lasting *lasting
}

// errInUse is the error of Discard while an operation or exposure uses the memory.
var errInUse = errors.New("the memory is used by an RDMA operation")

// newRegistrations makes the registrations of a domain. A copyBelow of 0 means that newRegistrations
// measures this length (see the field copyBelow). A negative copyBelow means that bytes are copied only if
// their memory cannot be registered.
func newRegistrations(d *verbs.ProtectionDomain, a *verbs.Attributes, pool *pinned, arena transport.Arena, copyBelow int) (*registrations, error) {
	r := &registrations{domain: d, pins: a.PinsMemory, pool: pool, own: verbs.AccessLocalWrite, read: verbs.AccessRemoteRead}
	if !r.pins {
		return r, nil
	}
	if !a.SinksAreWritable {
		r.own, r.read = r.own|r.read, r.own|r.read
	}
	r.sinksAreWritable = a.SinksAreWritable
	r.arena, r.bounces.domain, r.bounces.most = arena, r, bouncesMost
	r.bounces.access = r.own
	if err := r.bounces.grow(); err != nil {
		return nil, err
	}
	pool.mu.Lock()
	pool.rails = append(pool.rails, r)
	pool.mu.Unlock()
	r.copyBelow = max(copyBelow, 0)
	if copyBelow == 0 {
		r.copyBelow = measureCopies(d)
	}
	return r, nil
}

// copies reports whether an operation on data copies the bytes without an attempt to register data.
func (r *registrations) copies(data []byte) bool {
	return r.pins && len(data) < r.copyBelow && !r.inArena(data) && r.bounces.ready()
}

func (r *registrations) inArena(data []byte) bool {
	if r.arena == nil {
		return false
	}
	_, ok := r.arena.Offset(data)
	return ok
}

// take makes memory accessible to operations of this side until give is called.
func (r *registrations) take(data []byte, access verbs.Access) (registration, error) {
	if !r.inArena(data) {
		if m, off := r.keep(data, access); m != nil {
			return registration{m.region, off, m}, nil
		}
	}
	return r.use(data, access, r.own)
}

// expose makes memory accessible to peers until give is called. If peers may only read the memory, the
// registration can be that of a part of the arena that stays registered. If peers may write to the
// memory, or have no access to it, the key is for data alone.
func (r *registrations) expose(data []byte, access verbs.Access) (registration, error) {
	if access == verbs.AccessRemoteRead {
		return r.use(data, access, r.read)
	}
	return r.alone(data, access)
}

// use registers data. If data is in the arena, use returns a part of the arena that stays registered. The
// argument lasting gives the access rights of this part. If there is no room for the part, or data is not
// in the arena, use registers data alone, with the access rights in the argument access.
func (r *registrations) use(data []byte, access, lasting verbs.Access) (registration, error) {
	if r.arena != nil {
		if off, ok := r.arena.Offset(data); ok {
			if m := r.stay(off, off+len(data), lasting); m != nil {
				return registration{m.region, off - m.from, m}, nil
			}
		}
	}
	return r.alone(data, access)
}

// alone registers data for one operation or exposure only.
func (r *registrations) alone(data []byte, access verbs.Access) (registration, error) {
	region, err := r.Register(data, access)
	if err != nil {
		r.counts.refused++
		return registration{}, err
	}
	r.counts.single++
	return registration{region: region}, nil
}

// registrar registers memory.
type registrar interface {
	Register(data []byte, access verbs.Access) (*verbs.MemoryRegion, error)
}

// Register registers memory. If the registration fails because resources are exhausted, Register
// deregisters, on any rail, memory that stays registered and that no operation or exposure uses, and tries
// again. It does not do so for data that is longer than the memory that the process may pin.
func (r *registrations) Register(data []byte, access verbs.Access) (*verbs.MemoryRegion, error) {
	region, err := r.domain.Register(data, access)
	if !r.pins || len(data)/2 > r.pool.most { // most is half of what the process may pin
		return region, err
	}
	for errors.Is(err, verbs.ErrInsufficientResources) && r.pool.evict() {
		region, err = r.domain.Register(data, access)
	}
	return region, err
}

// give ends the use of memory. When give returns, the adapter does not access the memory any more, unless
// the memory stays registered.
func (r *registrations) give(g registration) error {
	r.pool.mu.Lock()
	closed := r.closed
	if g.lasting != nil {
		g.lasting.users--
	}
	r.pool.mu.Unlock()
	if g.lasting != nil || closed {
		return nil // a lasting registration stays; if r is closed, the registration ends with the adapter
	}
	return g.region.Close()
}

// close is called when the adapter was closed, or when the adapter is about to be closed and has no
// connections. Closing the adapter ends its registrations. So close does not deregister them, and does not
// wait for the adapter's lock, which the adapter may hold for a long time.
func (r *registrations) close() {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.closed = true
	all := func(*lasting) bool { return true }
	r.drop(&r.lasting, all)
	r.drop(&r.kept, all)
	r.pool.rails = slices.DeleteFunc(r.pool.rails, func(of *registrations) bool { return of == r })
}

// explain describes the registrations in one line, or returns "" if the adapter pins no memory.
func (r *registrations) explain() string {
	if !r.pins {
		return ""
	}
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	s := fmt.Sprintf("registered memory: %d parts of the arena with %d KiB, registered %d times and found %d times; %d times for one operation",
		len(r.lasting), r.bytes>>10, r.counts.lasting, r.counts.found, r.counts.single)
	if r.counts.kept > 0 {
		kept := 0
		for _, m := range r.kept {
			kept += m.to - m.from
		}
		s += fmt.Sprintf("; %d pieces of the heap with %d KiB, registered %d times and found %d times", len(r.kept), kept>>10, r.counts.kept, r.counts.keptFound)
	}
	s += fmt.Sprintf("; copied %d times (below %d bytes); %d evicted, %d refused", r.counts.copied, r.copyBelow, r.counts.evicted, r.counts.refused)
	if most := r.pool.most; most < math.MaxInt {
		s += fmt.Sprintf("; at most %d KiB stay registered on all adapters (half of RLIMIT_MEMLOCK)", most>>10)
	}
	return s
}

// furnish makes memory accessible for an operation. copied is true if the bytes have to be copied instead.
func (r *rail) furnish(data []byte, access verbs.Access) (m registration, copied bool, err error) {
	g := r.registered
	if !g.copies(data) {
		if m, err = g.take(data, access); err == nil || !g.pins {
			return m, false, err
		}
		r.t.complain(err)
	}
	g.counts.copied++
	return registration{}, true, nil
}

// complain logs that memory could not be registered. It logs only the first such error.
func (t *Transport) complain(err error) {
	if !t.complained {
		t.complained = true
		t.log.Log(fmt.Sprintf("rdma: messages are copied, since memory cannot be registered: %v", err))
	}
}

// pinnedArena is an arena of which parts are registered. Registered pages must not be returned to the
// operating system. Otherwise the adapter would go on using these pages, while the program would get
// other pages at the same addresses.
type pinnedArena struct {
	transport.Arena
	pool *pinned
}

// Discard implements transport.Arena. It fails while an operation or exposure uses a part that contains
// one of the pages.
func (a *pinnedArena) Discard(off, n int) error {
	within := func(m *lasting) bool { return m.overlaps(off, off+n) }
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	for _, r := range a.pool.rails {
		if slices.ContainsFunc(r.lasting, func(m *lasting) bool { return m.users > 0 && within(m) }) {
			return errInUse
		}
	}
	for _, r := range a.pool.rails {
		r.drop(&r.lasting, within)
	}
	return a.Arena.Discard(off, n)
}

// Arena returns the arena that the allocator has to use instead of Config.Arena.
func (t *Transport) Arena() transport.Arena {
	if t.config.Arena == nil || len(t.pinned.rails) == 0 {
		return t.config.Arena
	}
	return &pinnedArena{t.config.Arena, t.pinned}
}

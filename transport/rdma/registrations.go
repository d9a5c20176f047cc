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

// registrations is the memory of a protection domain that operations and exposures use. What
// becomes of it depends on where it lies:
//
//	provider in software          registered for the operation: an entry in a table
//	the rank's arena              registered once, in whole chunks, which stay
//	elsewhere, short              copied, through bounces
//	elsewhere, long               registered for the operation, pinned by the provider
//	                              that long; copied in parts if the provider refuses
//	Go's heap, long, again        registered until the collector ends it, see heap.go
//	exposed to be written         registered for the exposure alone, wherever it lies: a key
//	                              of more memory would let the peer write to that, too
//
// Only memory whose life is known may stay registered: a program unmaps memory without a word to this
// package, which hooks nothing. The arena's own allocator says what it gives back, see pinnedArena,
// and the collector frees nothing that is referred to.
type registrations struct {
	domain registrar
	// pins says that registrations are costly. The rest is not used otherwise.
	pins bool
	// copyBelow is the length in bytes from which a registration costs less than copies.
	copyBelow int
	bounces   bounces
	// arena is nil if there is none.
	arena transport.Arena
	// own are the rights of parts of the arena that operations of this side use, read of those
	// that peers are given keys of. They are the same where the adapter lets nobody write with
	// such a key.
	own, read verbs.Access
	// sinksAreWritable is the adapter's attribute.
	sinksAreWritable bool
	counts           registrationCounts

	// pool is the transport's. Its lock guards the rest.
	pool    *pinned
	lasting []*lasting
	recent  *lasting
	bytes   int
	closed  bool
	// kept are pieces of the heap, noticed the last ones that were registered for one operation.
	kept       []*lasting
	recentKept *lasting
	noticed    [noticedMost]span
	notices    int
}

// pinned is what stays registered on all rails of a transport: the machine bounds what a
// process may pin, whichever adapter it is for.
type pinned struct {
	// mu guards the rest, and what is registered of the arena on the rails. Under it the lock
	// of an adapter is taken, and the arena's own may be held when it is taken.
	mu sync.Mutex
	// bytes is the sum of the rails, most bounds it.
	bytes, most int
	rails       []*registrations
	clock       uint64
	// kept is the part of bytes that is of the heap, cycle counts collections while there is any,
	// watching says that the next one is waited for.
	kept     int
	cycle    uint64
	watching bool
}

// newPinned is the pool of adapters with these attributes.
func newPinned(rails []*rail) *pinned {
	p := &pinned{most: math.MaxInt}
	for _, r := range rails {
		if a := &r.limits; a.PinsMemory && a.MaxPinned > 0 {
			p.most = min(p.most, a.MaxPinned/2) // the rest is for what is registered for one operation, and for frames
		}
	}
	return p
}

// registrationCounts are what Explain says.
type registrationCounts struct{ found, lasting, single, copied, evicted, refused, kept, keptFound int }

// registration is memory that an operation or an exposure may use: data at off in region.
type registration struct {
	region *verbs.MemoryRegion
	off    int
	// lasting is what it is a part of, nil if the region is its own.
	lasting *lasting
}

// errInUse says that the adapter uses memory that is to be given back.
var errInUse = errors.New("the memory is used by an RDMA operation")

// newRegistrations prepares a domain. copyBelow of 0 means that it is measured, a negative one
// that nothing is copied as long as it can be registered.
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

// copies reports whether an operation on data copies them, whatever it costs to register them.
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

// take makes memory usable by operations of this side until give.
func (r *registrations) take(data []byte, access verbs.Access) (registration, error) {
	if !r.inArena(data) {
		if m, off := r.keep(data, access); m != nil {
			return registration{m.region, off, m}, nil
		}
	}
	return r.use(data, access, r.own)
}

// expose makes memory usable by peers until give. What they may only read can be a part of the
// arena; a key with which they write, or do nothing, is one of data alone.
func (r *registrations) expose(data []byte, access verbs.Access) (registration, error) {
	if access == verbs.AccessRemoteRead {
		return r.use(data, access, r.read)
	}
	return r.alone(data, access)
}

// use finds memory in a part of the arena with the rights lasting, or registers it with access.
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

// alone registers memory.
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

// Register registers memory. While that fails, it deregisters the least recently used part that has no
// user, on any of the rails, and tries again.
func (r *registrations) Register(data []byte, access verbs.Access) (*verbs.MemoryRegion, error) {
	region, err := r.domain.Register(data, access)
	for err != nil && r.pins && r.pool.evict() {
		region, err = r.domain.Register(data, access)
	}
	return region, err
}

// give ends the use of memory. When it returns the adapter uses it no more, or the memory is
// part of the arena.
func (r *registrations) give(g registration) error {
	r.pool.mu.Lock()
	closed := r.closed
	if g.lasting != nil {
		g.lasting.users--
	}
	r.pool.mu.Unlock()
	if g.lasting != nil || closed {
		return nil // the adapter's end is that of the registration
	}
	return g.region.Close()
}

// close is called when the adapter is closed, or is about to be and nothing is connected to it:
// that ends its registrations, under a lock that it may hold for long.
func (r *registrations) close() {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.closed = true
	all := func(*lasting) bool { return true }
	r.drop(&r.lasting, all)
	r.drop(&r.kept, all)
	r.pool.rails = slices.DeleteFunc(r.pool.rails, func(of *registrations) bool { return of == r })
}

// explain is a line for people, "" if registrations are not worth one.
func (r *registrations) explain() string {
	if r == nil || !r.pins { // the transport was not opened, or pins nothing
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
		s += fmt.Sprintf("; at most %d KiB stay registered on all adapters (RLIMIT_MEMLOCK)", most>>10)
	}
	return s
}

// furnish makes memory usable for an operation, or says that its bytes are to be copied.
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

// complain says once that memory could not be registered.
func (t *Transport) complain(err error) {
	if !t.complained {
		t.complained = true
		t.log.Log(fmt.Sprintf("rdma: messages are copied, since memory cannot be registered: %v", err))
	}
}

// pinnedArena is an arena parts of which are registered. Pages that are given back to the
// machine while they are registered would leave the adapter with others than the program has.
type pinnedArena struct {
	transport.Arena
	pool *pinned
}

// Discard implements transport.Arena. It fails while an operation uses a chunk of the pages.
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

// Arena returns what the allocator of Config.Arena is to use in its place.
func (t *Transport) Arena() transport.Arena {
	if t.config.Arena == nil || len(t.pinned.rails) == 0 {
		return t.config.Arena
	}
	return &pinnedArena{t.config.Arena, t.pinned}
}

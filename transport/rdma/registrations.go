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
//	exposed to be written         registered for the exposure alone, wherever it lies: a key
//	                              of more memory would let the peer write to that, too
//
// Only memory whose life is known may stay registered: the collector frees the heap, and a
// program unmaps memory, without a word to this package, which hooks neither. The arena's own
// allocator says what it gives back, see pinnedArena.
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
	counts    registrationCounts

	// pool is the transport's. Its lock guards the rest.
	pool    *pinned
	lasting []*lasting
	recent  *lasting
	bytes   int
	closed  bool
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
type registrationCounts struct{ found, lasting, single, copied, evicted, refused int }

// lasting is a part of the arena that stays registered while there is room.
type lasting struct {
	region *verbs.MemoryRegion
	access verbs.Access
	// from and to are where it lies in the arena.
	from, to int
	// users are operations and exposures, used is when the last one came.
	users int
	used  uint64
}

func (m *lasting) holds(from, to int) bool    { return m.from <= from && to <= m.to }
func (m *lasting) overlaps(from, to int) bool { return m.from < to && from < m.to }

// registration is memory that an operation or an exposure may use: data at off in region.
type registration struct {
	region *verbs.MemoryRegion
	off    int
	// lasting is what it is a part of, nil if the region is its own.
	lasting *lasting
}

const (
	// arenaChunk is the unit in bytes of what is registered of an arena, by which arenas
	// grow: a page of it that is not used yet would be pinned for nothing.
	arenaChunk = 4 << 20
	// lastingMost bounds the number of parts of the arena that stay registered.
	lastingMost = 1024
)

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

// Register registers memory, and deregisters parts of the arena that nothing uses, on whichever
// rail, if there is no room.
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
	if g.lasting == nil {
		return g.region.Close()
	}
	r.pool.mu.Lock()
	g.lasting.users--
	r.pool.mu.Unlock()
	return nil
}

// stay returns a part of the arena that is registered with these rights, or nil if there is no
// room for it.
func (r *registrations) stay(from, to int, access verbs.Access) *lasting {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	holds := func(m *lasting) bool { return m.access == access && m.holds(from, to) }
	m := r.recent
	if m == nil || !holds(m) {
		if at := slices.IndexFunc(r.lasting, holds); at >= 0 {
			m = r.lasting[at]
		} else if m = r.add(from, to, access); m == nil {
			return nil
		}
	} else {
		r.counts.found++
	}
	r.pool.clock++
	m.users, m.used, r.recent = m.users+1, r.pool.clock, m
	return m
}

// add registers the chunks of a part of the arena.
func (r *registrations) add(from, to int, access verbs.Access) *lasting {
	from = from / arenaChunk * arenaChunk
	to = min((to+arenaChunk-1)/arenaChunk*arenaChunk, r.arena.Size())
	if to-from > r.pool.most {
		return nil // however much is evicted
	}
	for len(r.lasting) >= lastingMost {
		if !evictOldest(r) {
			return nil
		}
	}
	for r.pool.bytes+to-from > r.pool.most {
		if !evictOldest(r.pool.rails...) {
			return nil
		}
	}
	b, err := r.arena.Bytes(from, to-from)
	if err != nil {
		return nil
	}
	m := &lasting{access: access, from: from, to: to}
	if m.region, err = r.domain.Register(b, access); err != nil {
		r.counts.refused++
		return nil
	}
	// What lies within is not looked for again.
	r.drop(func(old *lasting) bool {
		return old.users == 0 && old.access == access && m.holds(old.from, old.to)
	})
	r.lasting = append(r.lasting, m)
	r.bytes += to - from
	r.pool.bytes += to - from
	r.counts.lasting++
	return m
}

// evict deregisters the part of the arena that has not been used for longest and that nothing
// uses. It returns false if there is none.
func (p *pinned) evict() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return evictOldest(p.rails...)
}

func evictOldest(rails ...*registrations) bool {
	var oldest *lasting
	var of *registrations
	for _, r := range rails {
		for _, m := range r.lasting {
			if m.users == 0 && (oldest == nil || m.used < oldest.used) {
				oldest, of = m, r
			}
		}
	}
	if oldest == nil {
		return false
	}
	of.drop(func(m *lasting) bool { return m == oldest })
	of.counts.evicted++
	return true
}

// drop deregisters parts of the arena.
func (r *registrations) drop(which func(*lasting) bool) {
	r.lasting = slices.DeleteFunc(r.lasting, func(m *lasting) bool {
		if !which(m) {
			return false
		}
		if !r.closed {
			// An error means that the adapter is gone, and with it the registration.
			_ = m.region.Close()
		}
		r.bytes -= m.to - m.from
		r.pool.bytes -= m.to - m.from
		if r.recent == m {
			r.recent = nil
		}
		return true
	})
}

// close is called when the adapter is closed.
func (r *registrations) close() {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.closed = true
	r.drop(func(*lasting) bool { return true })
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
		r.drop(within)
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

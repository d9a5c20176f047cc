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
	// bytesMost bounds what stays registered.
	bytesMost int
	counts    registrationCounts

	// mu guards the rest. Under it the adapter's lock is taken, and the arena's own may be
	// held when it is taken.
	mu      sync.Mutex
	lasting []*lasting
	recent  *lasting
	bytes   int
	clock   uint64
	closed  bool
}

// registrationCounts are what Explain says.
type registrationCounts struct{ found, lasting, single, copied, evicted, refused int }

// lasting is a part of the arena that stays registered while there is room.
type lasting struct {
	region *verbs.MemoryRegion
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
	// lastingAccess are the rights of all that use it.
	lastingAccess = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
)

// errInUse says that the adapter uses memory that is to be given back.
var errInUse = errors.New("the memory is used by an RDMA operation")

// newRegistrations prepares a domain. copyBelow of 0 means that it is measured, a negative one
// that nothing is copied as long as it can be registered.
func newRegistrations(d *verbs.ProtectionDomain, a *verbs.Attributes, arena transport.Arena, copyBelow int) (*registrations, error) {
	r := &registrations{domain: d, pins: a.PinsMemory, bytesMost: math.MaxInt}
	if !r.pins {
		return r, nil
	}
	if a.MaxPinned > 0 {
		r.bytesMost = a.MaxPinned / 2 // the rest is for what is registered for one operation, and for frames
	}
	r.arena, r.bounces.domain, r.bounces.most = arena, r, bouncesMost
	if err := r.bounces.grow(); err != nil {
		return nil, err
	}
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

// take makes memory usable until give.
func (r *registrations) take(data []byte, access verbs.Access) (registration, error) {
	if r.arena != nil {
		if off, ok := r.arena.Offset(data); ok {
			if m := r.stay(off, off+len(data)); m != nil {
				return registration{m.region, off - m.from, m}, nil
			}
		}
	}
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

// Register registers memory, and deregisters parts of the arena that nothing uses if there is
// no room.
func (r *registrations) Register(data []byte, access verbs.Access) (*verbs.MemoryRegion, error) {
	region, err := r.domain.Register(data, access)
	for err != nil && r.pins && r.evict() {
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
	r.mu.Lock()
	g.lasting.users--
	r.mu.Unlock()
	return nil
}

// stay returns a registered part of the arena, or nil if there is no room for it.
func (r *registrations) stay(from, to int) *lasting {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.recent
	if m == nil || !m.holds(from, to) {
		if at := slices.IndexFunc(r.lasting, func(m *lasting) bool { return m.holds(from, to) }); at >= 0 {
			m = r.lasting[at]
		} else if m = r.add(from, to); m == nil {
			return nil
		}
	} else {
		r.counts.found++
	}
	r.clock++
	m.users, m.used, r.recent = m.users+1, r.clock, m
	return m
}

// add registers the chunks of a part of the arena.
func (r *registrations) add(from, to int) *lasting {
	from = from / arenaChunk * arenaChunk
	to = min((to+arenaChunk-1)/arenaChunk*arenaChunk, r.arena.Size())
	if to-from > r.bytesMost {
		return nil // however much is evicted
	}
	for len(r.lasting) >= lastingMost || r.bytes+to-from > r.bytesMost {
		if !r.evictOldest() {
			return nil
		}
	}
	b, err := r.arena.Bytes(from, to-from)
	if err != nil {
		return nil
	}
	m := &lasting{from: from, to: to}
	if m.region, err = r.domain.Register(b, lastingAccess); err != nil {
		r.counts.refused++
		return nil
	}
	// What lies within is not looked for again.
	r.drop(func(old *lasting) bool { return old.users == 0 && m.holds(old.from, old.to) })
	r.lasting = append(r.lasting, m)
	r.bytes += to - from
	r.counts.lasting++
	return m
}

// evict deregisters the part of the arena that has not been used for longest and that nothing
// uses. It returns false if there is none.
func (r *registrations) evict() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evictOldest()
}

func (r *registrations) evictOldest() bool {
	var oldest *lasting
	for _, m := range r.lasting {
		if m.users == 0 && (oldest == nil || m.used < oldest.used) {
			oldest = m
		}
	}
	if oldest == nil {
		return false
	}
	r.drop(func(m *lasting) bool { return m == oldest })
	r.counts.evicted++
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
		if r.recent == m {
			r.recent = nil
		}
		return true
	})
}

// close is called when the adapter is closed.
func (r *registrations) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.drop(func(*lasting) bool { return true })
}

// explain is a line for people, "" if registrations are not worth one.
func (r *registrations) explain() string {
	if r == nil || !r.pins { // the transport was not opened, or pins nothing
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := fmt.Sprintf("registered memory: %d parts of the arena with %d KiB, registered %d times and found %d times; %d times for one operation",
		len(r.lasting), r.bytes>>10, r.counts.lasting, r.counts.found, r.counts.single)
	s += fmt.Sprintf("; copied %d times (below %d bytes); %d evicted, %d refused", r.counts.copied, r.copyBelow, r.counts.evicted, r.counts.refused)
	if r.bytesMost < math.MaxInt {
		s += fmt.Sprintf("; at most %d KiB stay registered (RLIMIT_MEMLOCK)", r.bytesMost>>10)
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
	registered []*registrations
}

// Discard implements transport.Arena. It fails while an operation uses a chunk of the pages.
func (a *pinnedArena) Discard(off, n int) error {
	within := func(m *lasting) bool { return m.overlaps(off, off+n) }
	for _, r := range a.registered {
		r.mu.Lock()
		defer r.mu.Unlock()
		if slices.ContainsFunc(r.lasting, func(m *lasting) bool { return m.users > 0 && within(m) }) {
			return errInUse
		}
	}
	for _, r := range a.registered {
		r.drop(within)
	}
	return a.Arena.Discard(off, n)
}

// Arena returns what the allocator of Config.Arena is to use in its place.
func (t *Transport) Arena() transport.Arena {
	a := &pinnedArena{Arena: t.config.Arena}
	for _, r := range t.rails {
		if r.registered.arena != nil {
			a.registered = append(a.registered, r.registered)
		}
	}
	if a.registered == nil {
		return t.config.Arena
	}
	return a
}

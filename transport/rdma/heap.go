package rdma

import (
	"reflect"
	goruntime "runtime"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Memory of Go's heap that is moved again and again stays registered, as parts of the arena do. The
// registration refers to the memory, so that the collector neither frees it nor gives its addresses to
// other objects. In return the collector ends the registration: what no operation has used
// for keptCycles collections goes, and the memory with it if the program has dropped it. Memory of the
// program's own mappings never stays registered: nobody says when it is unmapped.
//
// Only operations of this side use such registrations: the key of an exposure ends with it.

const (
	// keptMost is how many pieces of the heap stay registered on a rail, keptBytes how many bytes
	// on all of them: so much the program may have dropped and the collector cannot free.
	keptMost  = 64
	keptBytes = 256 << 20
	// keptCycles is how many collections end before an unused piece goes.
	keptCycles = 2
	// noticedMost is how many pieces that were registered once are remembered: one that comes again
	// stays registered.
	noticedMost = 16
)

// span is where memory lies.
type span struct{ from, to uintptr }

// keep finds the registration of memory that was registered before with this access, or makes one
// that stays. It returns nil if the memory is to be registered for one operation, and where data
// begins in the registration.
func (r *registrations) keep(data []byte, access verbs.Access) (m *lasting, off int) {
	if !r.pins || len(data) < max(r.copyBelow, 1) || r.sinksAreWritable && access&verbs.AccessLocalWrite != 0 {
		return nil, 0
	}
	at := spanOf(data)
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	holds := func(m *lasting) bool { return m != nil && m.access == access && m.holds(int(at.from), int(at.to)) }
	if m = r.recentKept; !holds(m) {
		m = nil
		for _, k := range r.kept {
			if holds(k) {
				m = k
				break
			}
		}
	}
	if m != nil {
		r.counts.keptFound++
	} else if m = r.addKept(data, at, access); m == nil {
		return nil, 0
	}
	r.pool.clock++
	m.users, m.used, m.cycle, r.recentKept = m.users+1, r.pool.clock, r.pool.cycle, m
	return m, int(at.from) - m.from
}

// addKept registers memory that comes again, if it is the heap's and there is room.
func (r *registrations) addKept(data []byte, at span, access verbs.Access) *lasting {
	n := int(at.to - at.from)
	most := min(keptBytes, r.pool.most)
	if n > most || r.closed || !r.again(at) || !onHeap(data) {
		return nil
	}
	if !r.roomFor(n, most) {
		return nil
	}
	region, err := r.domain.Register(data, access)
	if err != nil {
		r.counts.refused++
		return nil
	}
	m := &lasting{region: region, access: access, from: int(at.from), to: int(at.to), heap: true}
	r.kept = append(r.kept, m)
	r.pool.kept += n
	r.pool.bytes += n
	r.counts.kept++
	r.pool.watch()
	return m
}

// roomFor evicts what has to go for n more bytes, of most that may be kept. It returns false, and evicts
// nothing, if what is in use leaves too little room. The number of pieces is that of a rail, and the
// bytes those of all.
func (r *registrations) roomFor(n, most int) bool {
	full := len(r.kept) >= keptMost
	over := max(r.pool.kept+n-most, r.pool.bytes+n-r.pool.most)
	if full && idleKept(r) == 0 || over > idleKept(r.pool.rails...) {
		return false
	}
	if full {
		evictKept(r)
	}
	for r.pool.kept+n > most || r.pool.bytes+n > r.pool.most {
		evictKept(r.pool.rails...)
	}
	return true
}

// idleKept is how many bytes of the heap stay registered although nothing uses them.
func idleKept(rails ...*registrations) (sum int) {
	for _, r := range rails {
		for _, m := range r.kept {
			if m.users == 0 {
				sum += m.to - m.from
			}
		}
	}
	return sum
}

// again reports whether memory has come before, and remembers it.
func (r *registrations) again(at span) bool {
	for i := range r.noticed {
		if r.noticed[i] == at {
			r.noticed[i] = span{}
			return true
		}
	}
	r.noticed[r.notices%noticedMost] = at
	r.notices++
	return false
}

// evictKept deregisters the least recently used piece of the heap that has no user, on any of the
// rails.
func evictKept(rails ...*registrations) {
	evictOldestOf(rails, func(r *registrations) *[]*lasting { return &r.kept })
}

// watch has collected called after the next collection.
func (p *pinned) watch() {
	if p.watching {
		return
	}
	p.watching = true
	goruntime.AddCleanup(new(sentinel), func(p *pinned) { p.collected() }, p)
}

// sentinel is an object that nothing refers to. It is too large to share a block with others.
type sentinel [64]byte

// collected ends registrations that were not used for long, after a collection. They are
// deregistered without the pool's lock, for which operations would wait.
func (p *pinned) collected() {
	var ended []*verbs.MemoryRegion
	p.mu.Lock()
	p.watching = false
	p.cycle++
	for _, r := range p.rails {
		r.remove(&r.kept, func(m *lasting) bool {
			old := m.users == 0 && p.cycle-m.cycle >= keptCycles
			if old {
				ended = append(ended, m.region)
			}
			return old
		})
	}
	if p.kept > 0 {
		p.watch()
	}
	p.mu.Unlock()
	for _, m := range ended {
		// An error means that the adapter is gone, and with it the registration.
		_ = m.Close()
	}
}

// onHeap reports whether memory is an object of Go's heap. The runtime says so by the way: a Pinner
// keeps references to such objects, and ignores everything else. Where it has other fields one
// day, nothing is found to be on the heap.
func onHeap(b []byte) bool {
	var p goruntime.Pinner
	p.Pin(&b[0])
	defer p.Unpin()
	inner := reflect.ValueOf(&p).Elem().FieldByName("pinner")
	if inner.Kind() != reflect.Pointer || inner.IsNil() || inner.Elem().Kind() != reflect.Struct {
		return false
	}
	refs := inner.Elem().FieldByName("refs")
	return refs.Kind() == reflect.Slice && refs.Len() == 1
}

package rdma

import (
	"reflect"
	goruntime "runtime"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Memory of Go's heap that operations use repeatedly stays registered, as chunks of the arena do. A
// registered piece of the heap is one range that an operation has used. The registration refers to
// the memory, so that the garbage collector neither frees the memory nor reuses its addresses.
// A piece that no operation has used for keptCycles garbage collections is deregistered. An unused
// piece is also deregistered if other memory needs its place. After the deregistration, the collector
// can free the memory if the program has dropped it. Memory that the program has mapped itself never
// stays registered, because this package does not learn when such memory is unmapped.
//
// Only operations of this side use such registrations. An exposure does not use them, because the
// key of an exposure has to become invalid when the exposure ends. On adapters with the attribute
// SinksAreWritable, a Get does not use them either, because the peer could write to the memory as long
// as it stays registered.

const (
	// keptMost is the maximum number of pieces of the heap that stay registered on a rail.
	// keptBytes is the maximum number of their bytes on all rails together. It bounds the memory
	// that the program has dropped and that the collector cannot free because of the registrations.
	keptMost  = 64
	keptBytes = 256 << 20
	// keptCycles is the number of collections after which an unused piece is deregistered.
	keptCycles = 2
	// A piece that was registered for one operation is remembered. When it is used again, it stays
	// registered. noticedMost is the number of pieces that are remembered.
	noticedMost = 16
)

// span is the range of addresses of a slice.
type span struct{ from, to uintptr }

// keep finds an earlier registration of data with the given access rights, or makes a registration
// that stays. It returns the registration and the offset of data in the registered piece. It
// returns nil if the caller has to register the memory for one operation.
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

// addKept registers memory that is used repeatedly, if it is in the heap and there is room.
// Otherwise it returns nil.
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

// roomFor evicts unused pieces until there is room for a piece of n bytes. The argument most bounds
// the bytes of the heap that are registered. If the eviction of all unused pieces would not make
// enough room, roomFor evicts nothing and returns false. The number of pieces is bounded for each
// rail, and the bytes for all rails together.
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

// idleKept returns the number of bytes of the heap that stay registered although nothing uses them.
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

// again reports whether the same memory was noticed before. It remembers memory that was not
// noticed before.
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

// evictKept deregisters the least recently used piece of the heap that no operation uses, on any of
// the rails.
func evictKept(rails ...*registrations) {
	evictOldestOf(rails, func(r *registrations) *[]*lasting { return &r.kept })
}

// watch arranges that collected is called after the next collection.
func (p *pinned) watch() {
	if p.watching {
		return
	}
	p.watching = true
	goruntime.AddCleanup(new(sentinel), func(p *pinned) { p.collected() }, p)
}

// sentinel is an object to which nothing refers, which is why the next collection frees it. Its size
// ensures that the runtime does not put it into a block of memory with other objects.
type sentinel [64]byte

// collected is called after a collection. It ends the registrations of the heap that were not used
// for keptCycles collections. collected releases the pool's lock before it deregisters the memory,
// so that operations do not wait for the lock.
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
		// An error means that the adapter is gone, and the registration with it.
		_ = m.Close()
	}
}

// onHeap reports whether memory is an object of Go's heap. It relies on a detail of the runtime: a
// Pinner keeps references to objects of the heap, and ignores all other memory. If the fields of
// Pinner change, onHeap returns false.
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

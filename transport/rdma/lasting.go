package rdma

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// lasting is a part of the arena, or of the heap, that stays registered while there is room.
type lasting struct {
	region *verbs.MemoryRegion
	access verbs.Access
	// from and to are where it lies in the arena, or, if heap is set, its addresses. cycle is the
	// collection before the last operation that used it.
	from, to int
	heap     bool
	cycle    uint64
	// users are operations and exposures, used is when the last one came.
	users int
	used  uint64
}

func (m *lasting) holds(from, to int) bool    { return m.from <= from && to <= m.to }
func (m *lasting) overlaps(from, to int) bool { return m.from < to && from < m.to }

const (
	// arenaChunk is the unit in bytes of what is registered of an arena, by which arenas
	// grow: a page of it that is not used yet would be pinned for nothing.
	arenaChunk = 4 << 20
	// lastingMost bounds the number of parts of the arena that stay registered.
	lastingMost = 1024
)

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
	r.drop(&r.lasting, func(old *lasting) bool {
		return old.users == 0 && old.access == access && m.holds(old.from, old.to)
	})
	r.lasting = append(r.lasting, m)
	r.bytes += to - from
	r.pool.bytes += to - from
	r.counts.lasting++
	return m
}

// evict deregisters the part of the arena or of the heap that has not been used for longest and that
// nothing uses. It returns false if there is none.
func (p *pinned) evict() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return evictOldest(p.rails...)
}

// evictOldest deregisters what has not been used for longest and nothing uses.
func evictOldest(rails ...*registrations) bool {
	return evictOldestOf(rails, func(r *registrations) *[]*lasting { return &r.lasting }, func(r *registrations) *[]*lasting { return &r.kept })
}

func evictOldestOf(rails []*registrations, lists ...func(r *registrations) *[]*lasting) bool {
	var oldest *lasting
	var of *registrations
	for _, r := range rails {
		for _, list := range lists {
			for _, m := range *list(r) {
				if m.users == 0 && (oldest == nil || m.used < oldest.used) {
					oldest, of = m, r
				}
			}
		}
	}
	if oldest == nil {
		return false
	}
	for _, list := range lists {
		of.drop(list(of), func(m *lasting) bool { return m == oldest })
	}
	of.counts.evicted++
	return true
}

// drop deregisters what stays registered.
func (r *registrations) drop(list *[]*lasting, which func(*lasting) bool) {
	r.remove(list, func(m *lasting) bool {
		ends := which(m)
		if ends && !r.closed {
			// An error means that the adapter is gone, and with it the registration.
			_ = m.region.Close()
		}
		return ends
	})
}

// remove takes registrations off a list, which are not used any more.
func (r *registrations) remove(list *[]*lasting, which func(*lasting) bool) {
	*list = slices.DeleteFunc(*list, func(m *lasting) bool {
		if !which(m) {
			return false
		}
		n := m.to - m.from
		r.pool.bytes -= n
		if m.heap {
			r.pool.kept -= n
		} else {
			r.bytes -= n
		}
		if r.recent == m {
			r.recent = nil
		}
		if r.recentKept == m {
			r.recentKept = nil
		}
		return true
	})
}

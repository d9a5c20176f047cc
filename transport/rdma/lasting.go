package rdma

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// lasting is a registration of a part of the arena, or of the heap, that is kept for later operations.
type lasting struct {
	region *verbs.MemoryRegion
	access verbs.Access
	// from is the offset of the first byte of the part in the arena, and to is the offset of
	// the byte after its last byte. If heap is set, from and to are addresses instead, and cycle is the
	// value of pinned.cycle when an operation last began to use the part.
	from, to int
	heap     bool
	cycle    uint64
	// users is the number of operations and exposures that use the part. used is the value of
	// pinned.clock when the last of them began to use it.
	users int
	used  uint64
}

func (m *lasting) holds(from, to int) bool    { return m.from <= from && to <= m.to }
func (m *lasting) overlaps(from, to int) bool { return m.from < to && from < m.to }

const (
	// arenaChunk is the unit in bytes in which an arena is registered. An arena grows by multiples of
	// arenaChunk, up to its end. So a registration of whole chunks pins no page to which the arena has
	// not grown.
	arenaChunk = 4 << 20
	// lastingMost is the maximum number of parts of the arena that stay registered on a rail.
	lastingMost = 1024
)

// stay returns a registered part of the arena that contains [from, to) and has the given access
// rights. If there is no such part, stay registers one. stay counts the caller as a user of the
// part. It returns nil if there is no room, if the arena cannot provide the memory, or if the adapter
// refuses the registration.
func (r *registrations) stay(from, to int, access verbs.Access) *lasting {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	holds := func(m *lasting) bool { return m.access == access && m.holds(from, to) }
	m := r.recent
	if m == nil || !holds(m) {
		m = nil
		if at := slices.IndexFunc(r.lasting, holds); at >= 0 {
			m = r.lasting[at]
		}
	}
	if m != nil {
		r.counts.found++
	} else if m = r.add(from, to, access); m == nil {
		return nil
	}
	r.pool.clock++
	m.users, m.used, r.recent = m.users+1, r.pool.clock, m
	return m
}

// add registers the chunks of the arena that contain [from, to). It returns nil in the cases that stay names.
func (r *registrations) add(from, to int, access verbs.Access) *lasting {
	from = from / arenaChunk * arenaChunk
	to = min((to+arenaChunk-1)/arenaChunk*arenaChunk, r.arena.Size())
	if to-from > r.pool.most {
		return nil // too large, even if everything else were evicted
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
	// Unused parts within the new part are dropped, because the method stay finds the new part from now on.
	r.drop(&r.lasting, func(old *lasting) bool {
		return old.users == 0 && old.access == access && m.holds(old.from, old.to)
	})
	r.lasting = append(r.lasting, m)
	r.bytes += to - from
	r.pool.bytes += to - from
	r.counts.lasting++
	return m
}

// evict deregisters the least recently used part of the arena or of the heap that has no user. It
// returns false if every part has a user.
func (p *pinned) evict() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return evictOldest(p.rails...)
}

// evictOldest deregisters the least recently used part that has no user, of the arena or of the heap, on
// any of the rails. It returns false if every part has a user.
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

// drop removes from a list, and deregisters, the registrations for which ends(m) is true. After
// registrations.close, drop only removes them, because the end of the adapter ends them.
func (r *registrations) drop(list *[]*lasting, ends func(*lasting) bool) {
	r.remove(list, func(m *lasting) bool {
		if !ends(m) {
			return false
		}
		if !r.closed {
			// An error means that the adapter and its registrations are gone.
			_ = m.region.Close()
		}
		return true
	})
}

// remove removes from a list, and from the byte counts, the registrations for which ends(m) is true. It does not
// deregister them.
func (r *registrations) remove(list *[]*lasting, ends func(*lasting) bool) {
	*list = slices.DeleteFunc(*list, func(m *lasting) bool {
		if !ends(m) {
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

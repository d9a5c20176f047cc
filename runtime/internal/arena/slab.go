package arena

// slab divides a span into slots of one size class. Slot i begins at byte
// i*size of the span.
type slab struct {
	span  *span
	class int
	size  int
	// vacant is a stack of the free slots, the most recently freed on top.
	vacant []uint16
	leases []lease

	prev, next *slab // neighbours in the shelf's list of slabs with vacant slots
	listed     bool  // the slab is in that list
}

// slabBytes returns the size in bytes of a slab of a class. It is a multiple of page, the
// page size.
func slabBytes(class, page int) int {
	n := max(classSize(class)*slabSlots, slabMin)
	return (n + page - 1) / page * page
}

// shelf holds the slabs of one class.
type shelf struct {
	first *slab // list of the slabs with vacant slots
	empty int   // number of slabs in this list that have no occupied slot
	spare *slab // a record for the next slab, or nil
}

func (f *shelf) push(b *slab) {
	b.listed = true
	b.prev, b.next = nil, f.first
	if b.next != nil {
		b.next.prev = b
	}
	f.first = b
}

func (f *shelf) remove(b *slab) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		f.first = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
	b.prev, b.next, b.listed = nil, nil, false
}

// newSlab makes the span s a slab. It reuses the record in spare if there is one.
func (f *shelf) newSlab(s *span, class int) *slab {
	b := f.spare
	f.spare = nil
	if b == nil {
		size := classSize(class)
		slots := s.n / size
		b = &slab{class: class, size: size, vacant: make([]uint16, slots), leases: make([]lease, slots)}
	}
	b.span = s
	b.vacant = b.vacant[:len(b.leases)]
	for i := range b.vacant {
		b.vacant[i] = uint16(len(b.vacant) - 1 - i)
	}
	s.slab = b
	f.push(b)
	f.empty++
	return b
}

// vacate frees a slot. If this slab and another slab of the shelf then have no occupied slot, vacate
// dissolves this slab and returns its span. The caller releases the span. Otherwise vacate returns
// nil.
func (f *shelf) vacate(b *slab, slot int) *span {
	b.vacant = append(b.vacant, uint16(slot))
	if !b.listed {
		f.push(b)
	}
	if len(b.vacant) < len(b.leases) {
		return nil
	}
	if f.empty == 0 {
		f.empty++
		return nil
	}
	return f.dissolve(b)
}

// dissolve removes a slab without occupied slots from the shelf and returns its span. It
// keeps the record in spare.
func (f *shelf) dissolve(b *slab) *span {
	f.remove(b)
	s := b.span
	b.span, s.slab = nil, nil
	f.spare = b
	return s
}

// occupy takes a vacant slot of b and returns its index.
func (f *shelf) occupy(b *slab) int {
	if len(b.vacant) == len(b.leases) {
		f.empty--
	}
	top := len(b.vacant) - 1
	slot := int(b.vacant[top])
	b.vacant = b.vacant[:top]
	if top == 0 {
		f.remove(b)
	}
	return slot
}

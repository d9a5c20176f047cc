package arena

import (
	"fmt"
	"os"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// keepDefault is Config.Keep when that is 0, in bytes.
	keepDefault = 256 << 20
	// growMin and growMax bound what the arena grows by in bytes; in between it
	// doubles. Chunks begin at multiples of growMin: transport/shm makes the arena
	// of a rank that shares its process in pieces of that size.
	growMin = 4 << 20
	growMax = 64 << 20
	// gatherMin is the size in bytes from which hot neighbours of cold pages are
	// looked for before cold pages alone are used.
	gatherMin = 1 << 20
	// untouchedMin is the size in bytes from which AllocZeros prefers pages that
	// were never touched to clearing others.
	untouchedMin = 256 << 10
)

// Config says how an Arena is run. The zero value serves rank 0.
type Config struct {
	// Rank is the rank that owns the range.
	Rank int
	// Keep is how many bytes of freed pages stay backed by memory; what was freed
	// longest ago is returned to the machine first. 0 means 256 MiB, a negative
	// number nothing at all.
	Keep int
	// Contiguous says that the range is one mapping, so memory may cross what was
	// asked for at different times. The heap is not.
	Contiguous bool
	// Guarded makes every access to memory that was freed or given away fault in
	// this process. Every lease then takes whole pages. The range must be a
	// mapping of its own, not the heap.
	Guarded bool
}

// Stats counts what an Arena holds at one moment.
type Stats struct {
	// Own and Given count the leases of this rank and those given away.
	Own, Given int
	// Bytes is the sum of the leases, as asked for.
	Bytes int
	// Grown is how much of the range is in use or was; Hot is how much of the
	// free part is still backed by memory. Both in bytes.
	Grown, Hot int
}

// Leases is the number of all leases.
func (s Stats) Leases() int { return s.Own + s.Given }

// Arena divides one rank's range. See the package comment.
type Arena struct {
	mem  transport.Arena
	rank int32
	keep int
	// guarded, contiguous: see Config.
	guarded, contiguous bool

	// mu guards all below. It is a leaf.
	mu      sync.Mutex
	heap    heap
	shelves []shelf
	chunks  []*chunk
	grown   int
	epoch   uint64
}

// New returns the arena of a range of which nothing is in use yet.
func New(mem transport.Arena, cfg Config) *Arena {
	keep := cfg.Keep
	if keep == 0 {
		keep = keepDefault
	}
	return &Arena{
		mem: mem, rank: int32(cfg.Rank), keep: keep,
		guarded: cfg.Guarded, contiguous: cfg.Contiguous,
		heap:    heap{page: os.Getpagesize()},
		shelves: make([]shelf, classes),
	}
}

// Alloc leases n bytes to this rank, aligned to 64 bytes, or to a page from
// LargeMin on. They are not cleared. The error is ErrFull or that of the machine.
func (a *Arena) Alloc(n int) (Lease, error) {
	if n < 0 {
		return Lease{}, fmt.Errorf("allocate %d bytes: a negative size", n)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n < LargeMin && !a.guarded {
		return a.allocSmall(n)
	}
	l, _, err := a.allocLarge(n, false)
	return l, err
}

// AllocZeros is Alloc of whole pages that are zeros. Large ones are not touched if
// that can be helped: pages that are not written cost no memory.
func (a *Arena) AllocZeros(n int) (Lease, error) {
	if n < 0 {
		return Lease{}, fmt.Errorf("allocate %d bytes: a negative size", n)
	}
	l, zeros, err := a.allocZeros(n)
	if err == nil && !zeros {
		clear(l.Bytes)
	}
	return l, err
}

func (a *Arena) allocZeros(n int) (l Lease, zeros bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.allocLarge(n, n >= untouchedMin)
}

// allocLarge leases whole pages. zeros says that they are cold, and hence zeros.
func (a *Arena) allocLarge(n int, untouched bool) (l Lease, zeros bool, err error) {
	s, t, err := a.span(max(n, 1), untouched)
	if err != nil {
		return Lease{}, false, err
	}
	if a.guarded {
		if err := Guard(s.bytes(s.off, s.n), false); err != nil {
			a.release(s)
			return Lease{}, false, fmt.Errorf("allocate %d bytes: %w", n, err)
		}
	}
	return a.begin(&s.lease, s, s.off, n), t == cold, nil
}

func (a *Arena) allocSmall(n int) (Lease, error) {
	class := classOf(n)
	f := &a.shelves[class]
	b := f.first
	if b == nil {
		s, _, err := a.span(slabBytes(class, a.heap.page), false)
		if err != nil {
			return Lease{}, err
		}
		b = f.newSlab(s, class)
		a.heap.enter(s)
	}
	slot := f.occupy(b)
	return a.begin(&b.leases[slot], b.span, b.span.off+slot*b.size, n), nil
}

// begin enters a lease in the table.
func (a *Arena) begin(l *lease, s *span, off, n int) Lease {
	a.epoch++
	l.epoch, l.n, l.holder, l.given = a.epoch, n, a.rank, false
	return Lease{Off: off, Bytes: s.bytes(off, n), epoch: a.epoch}
}

// span returns a span of at least n bytes, rounded up to pages, from what is
// free or by growing, and says whether some of it may have been touched: hot.
// untouched asks for one that was not, if that can be had without growing.
func (a *Arena) span(n int, untouched bool) (*span, temperature, error) {
	page := a.heap.page
	if n > a.mem.Size() {
		return nil, hot, fmt.Errorf("%w: %d bytes do not fit in a range of %d", ErrFull, n, a.mem.Size())
	}
	n = (n + page - 1) / page * page
	if untouched {
		if s := a.heap.take(n, cold); s != nil {
			return s, cold, nil
		}
	}
	if s := a.heap.take(n, hot); s != nil {
		return s, hot, nil
	}
	// A long walk pays where it saves touching many pages first.
	if n >= gatherMin && a.heap.hot >= n/2 {
		if s := a.heap.gather(a.chunks, n, n/2); s != nil {
			return s, hot, nil
		}
	}
	if s := a.heap.take(n, cold); s != nil {
		return s, cold, nil
	}
	if s := a.heap.gather(a.chunks, n, 0); s != nil {
		return s, hot, nil
	}
	err := a.grow(n)
	if err == nil {
		return a.heap.take(n, cold), cold, nil
	}
	a.dissolve()
	if s := a.heap.gather(a.chunks, n, 0); s != nil {
		return s, hot, nil
	}
	// What the range still has joins what is free at its end.
	if room := a.room(); room > 0 && room < n && a.grow(room) == nil {
		if s := a.heap.gather(a.chunks, n, 0); s != nil {
			return s, hot, nil
		}
	}
	return nil, hot, err
}

// room is how much of the range was never used, in whole pages.
func (a *Arena) room() int { return a.mem.Size()/a.heap.page*a.heap.page - a.grown }

// dissolve frees the slabs that have no slot taken.
func (a *Arena) dissolve() {
	for i := range a.shelves {
		f := &a.shelves[i]
		for b := f.first; b != nil; {
			next := b.next
			if len(b.vacant) == len(b.leases) {
				f.empty--
				a.release(f.dissolve(b))
			}
			b = next
		}
	}
}

// grow adds at least n free bytes: it lengthens the last chunk where the range is
// one mapping, else it begins a new one.
func (a *Arena) grow(n int) error {
	room := a.room()
	if room < n {
		return fmt.Errorf("%w: %d bytes wanted, %d of %d never used", ErrFull, n, room, a.mem.Size())
	}
	want := max(n, min(a.grown, growMax))
	want = min((want+growMin-1)/growMin*growMin, room)
	mem, err := a.mem.Bytes(a.grown, want)
	if err != nil {
		return fmt.Errorf("grow the arena by %d bytes: %w", want, err)
	}
	c, err := a.chunk(mem)
	if err != nil {
		return fmt.Errorf("grow the arena by %d bytes: %w", want, err)
	}
	s := a.heap.record()
	s.off, s.n, s.chunk = a.grown, want, c
	a.grown += want
	a.heap.pages = append(a.heap.pages, make([]*span, want/a.heap.page)...)
	a.heap.insert(s, cold)
	return nil
}

// chunk returns the chunk that mem, the bytes at a.grown, is a part of.
func (a *Arena) chunk(mem []byte) (*chunk, error) {
	if a.contiguous && len(a.chunks) > 0 {
		c := a.chunks[0]
		longer, err := a.mem.Bytes(c.off, len(c.mem)+len(mem))
		if err == nil {
			c.mem = longer
		}
		return c, err
	}
	c := &chunk{off: a.grown, mem: mem}
	a.chunks = append(a.chunks, c)
	return c, nil
}

// release frees the pages of s and returns to the machine what exceeds
// the limit.
func (a *Arena) release(s *span) {
	if a.guarded {
		// A failure leaves the pages open, which only weakens the diagnosis.
		_ = Guard(s.bytes(s.off, s.n), true)
	}
	a.heap.insert(s, hot)
	for a.heap.hot > max(a.keep, 0) && a.cool(a.heap.oldest) {
		continue
	}
}

// cool gives a free span back to the machine, which makes it zeros. It reports
// false, with the span as hot as before, when the machine does not take it.
func (a *Arena) cool(s *span) bool {
	if a.mem.Discard(s.off, s.n) != nil {
		return false
	}
	a.heap.unlink(s)
	a.heap.insert(s, cold)
	return true
}

// find returns the table's entry of the lease that begins at off, and where its
// memory is.
func (a *Arena) find(off uint64) (*lease, *span) {
	if off >= uint64(a.grown) {
		return nil, nil
	}
	s := a.heap.at(int(off))
	if s == nil || s.free {
		return nil, nil
	}
	l := &s.lease
	at := int(off) - s.off
	switch {
	case s.slab != nil:
		slot := at / s.slab.size
		if at%s.slab.size != 0 || slot >= len(s.slab.leases) {
			return nil, nil
		}
		l = &s.slab.leases[slot]
	case at != 0:
		return nil, nil
	}
	if l.epoch == 0 {
		return nil, nil
	}
	return l, s
}

// settle frees the memory of a lease without a holder.
func (a *Arena) settle(l *lease, s *span, off int) {
	if !l.dead() {
		return
	}
	l.epoch, l.n = 0, 0
	if s.slab == nil {
		a.release(s)
		return
	}
	b := s.slab
	f := &a.shelves[b.class]
	if s := f.vacate(b, (off-s.off)/b.size); s != nil {
		a.release(s)
	}
}

// Stats counts what the arena holds.
func (a *Arena) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := Stats{Grown: a.grown, Hot: a.heap.hot}
	a.each(func(l *lease, _ int) {
		st.Bytes += l.n
		if l.given {
			st.Given++
		} else {
			st.Own++
		}
	})
	return st
}

// each calls fn for every lease. fn may not end it.
func (a *Arena) each(fn func(l *lease, off int)) {
	for _, c := range a.chunks {
		for off := c.off; off < c.off+len(c.mem); {
			s := a.heap.at(off)
			off = s.off + s.n
			switch {
			case s.free:
			case s.slab != nil:
				for i := range s.slab.leases {
					if l := &s.slab.leases[i]; l.epoch != 0 {
						fn(l, s.off+i*s.slab.size)
					}
				}
			default:
				fn(&s.lease, s.off)
			}
		}
	}
}

// Key returns the key by which peers reach the memory at off.
func (a *Arena) Key(off int) transport.Key { return a.mem.Key(off) }

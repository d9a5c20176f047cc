package arena

import (
	"fmt"
	"os"
	"sync"

	"github.com/gorun-hpc/gorun/transport"
)

const (
	// keepDefault, in bytes, is used if Config.Keep is 0.
	keepDefault = 256 << 20
	// growMin and growMax bound the number of bytes by which the arena grows at once. Between these
	// bounds, each growth doubles the arena. It grows by more than growMax only for a longer lease, and
	// by less than growMin only at the end of the range. If several ranks share a process, transport/shm
	// allocates their arenas in pieces of growMin bytes. Therefore chunks begin at multiples of growMin.
	growMin = 4 << 20
	growMax = 64 << 20
	// gatherMin is the size in bytes from which the method span tries to combine hot pages with
	// adjacent cold pages, before it uses cold pages alone.
	gatherMin = 1 << 20
	// untouchedMin is the size in bytes from which AllocZeros prefers cold pages to hot
	// pages. Cold pages are zeros; AllocZeros has to clear hot pages.
	untouchedMin = 256 << 10
)

// Config configures an Arena. The zero value is valid for rank 0.
type Config struct {
	// Rank is the rank that owns the range.
	Rank int
	// Keep is the maximum number of bytes of free pages that stay backed by memory.
	// If there are more, the pages that were freed longest ago are returned to the operating
	// system. The value 0 means 256 MiB. A negative number means that no free page stays backed.
	Keep int
	// Contiguous reports whether the range is one mapping. If so, a lease may
	// span bytes that different calls of transport.Arena.Bytes have returned. A
	// range in Go's heap is not contiguous.
	Contiguous bool
	// Guarded protects memory that was freed or given away: every access of this process to it
	// faults. Every lease then takes whole pages. The range must be a mapping of its own, not the
	// heap.
	Guarded bool
}

// Stats describes the state of an Arena at one moment.
type Stats struct {
	// Own is the number of leases that this rank holds. Given is the number of leases that it has
	// given away.
	Own, Given int
	// Bytes is the sum of the requested lengths of all leases.
	Bytes int
	// Grown is the size in bytes of the part of the range into which the arena has
	// grown so far. Hot is the number of free bytes that are still backed by memory.
	Grown, Hot int
}

// Leases is the number of all leases.
func (s Stats) Leases() int { return s.Own + s.Given }

// Arena divides the range of one rank into leases. See the package comment.
type Arena struct {
	mem  transport.Arena
	rank int32
	keep int
	// guarded, contiguous: see Config.
	guarded, contiguous bool

	// mu guards all fields below. While it is held, only mem and Guard are called.
	mu      sync.Mutex
	heap    heap
	shelves []shelf
	chunks  []*chunk
	grown   int
	epoch   uint64
}

// New returns an Arena for the range of mem. No byte of the range may be in use yet.
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

// Alloc leases n bytes to this rank, aligned to 64 bytes, or to a page if n is at least
// LargeMin or Config.Guarded is true. The bytes are not cleared. The error is ErrFull, the
// error of the operating system, or that of a negative n.
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

// AllocZeros leases whole pages whose bytes are zeros. If n is at least untouchedMin,
// it prefers cold pages, because they need not be cleared. A cold page that is never written
// uses no memory.
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

// allocLarge leases whole pages. If untouched is true, it prefers cold pages, see span. The result
// zeros is true if the pages were cold, that is, if they are zeros.
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

// begin records a lease of this rank in the table entry l, and returns the handle of the lease.
func (a *Arena) begin(l *lease, s *span, off, n int) Lease {
	a.epoch++
	l.epoch, l.n, l.holder, l.given = a.epoch, n, a.rank, false
	return Lease{Off: off, Bytes: s.bytes(off, n), epoch: a.epoch}
}

// span returns a span of n bytes, rounded up to whole pages, from the free spans or
// by growing the arena. The temperature is hot if some pages of the span may have been touched. If
// untouched is true, span prefers a free cold span to a hot one.
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
	// gather walks over all spans. The walk costs less than the page faults of many cold pages.
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
	// Add the rest of the range, which is shorter than n. Together with the free spans that end where
	// it begins, the rest may be long enough.
	if room := a.room(); room > 0 && room < n && a.grow(room) == nil {
		if s := a.heap.gather(a.chunks, n, 0); s != nil {
			return s, hot, nil
		}
	}
	return nil, hot, err
}

// room returns the number of bytes by which the arena can still grow, in whole pages.
func (a *Arena) room() int { return a.mem.Size()/a.heap.page*a.heap.page - a.grown }

// dissolve releases the spans of all slabs that have no occupied slot.
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

// grow adds at least n free bytes. In a contiguous range, it lengthens the only chunk. In any other
// range, it begins a new chunk.
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

// chunk returns the chunk, lengthened or new, that contains mem. mem is the memory by
// which the arena grows, at offset a.grown.
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

// release makes s a free span. While the hot free spans have more than Config.Keep bytes, it
// returns the span that was freed longest ago to the operating system. It stops if cool fails.
func (a *Arena) release(s *span) {
	if a.guarded {
		// If Guard fails, the pages stay accessible, which only weakens the diagnosis.
		_ = Guard(s.bytes(s.off, s.n), true)
	}
	a.heap.insert(s, hot)
	for a.heap.hot > max(a.keep, 0) && a.cool(a.heap.oldest) {
		continue
	}
}

// cool returns the memory of a free hot span to the operating system. The span is then
// cold, and its bytes are zeros. If Discard or Guard fails, cool returns false, and s stays hot.
func (a *Arena) cool(s *span) bool {
	if a.guarded {
		b := s.bytes(s.off, s.n)
		if Guard(b, false) != nil { // Discard may write to the pages
			return false
		}
		defer func() { _ = Guard(b, true) }() // see release
	}
	if a.mem.Discard(s.off, s.n) != nil {
		return false
	}
	a.heap.unlink(s)
	a.heap.insert(s, cold)
	return true
}

// find returns the table entry of the lease that begins at off, and the span that contains the lease.
// It returns nil and nil if no lease begins at off.
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

// settle frees the memory of the lease at off in span s if no rank holds it any more.
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

// Stats returns the current state of the arena.
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

// each calls fn for every lease. fn must not end a lease.
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

package rdma

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// bounces lends staging buffers, called pieces. A piece is bounceBytes bytes of registered memory. The bytes of
// operations whose memory is not registered are copied through pieces. Short exposed memory is copied into pieces.
type bounces struct {
	domain registrar
	// access contains the access rights of the pieces. Pieces are lent to peers only if access includes
	// AccessRemoteRead.
	access verbs.Access
	free   []bounce
	// total is the number of pieces. most is the maximum number of pieces. When the registration of
	// more pieces fails, grow sets most to total.
	total, most int
	// exposed counts the pieces that expose has lent and that conceal has not returned yet.
	exposed int
}

// bounce is one piece: the bounceBytes bytes at the offset off in region.
type bounce struct {
	region *verbs.MemoryRegion
	off    int
}

const (
	// bounceBytes is the size of a piece in bytes. bouncesAtOnce is the number of pieces that are
	// registered together, and bouncesMost the maximum number of pieces.
	bounceBytes   = 64 << 10
	bouncesAtOnce = 8
	bouncesMost   = 64
)

// bytes returns the first n bytes of a piece.
func (b *bounce) bytes(n int) []byte { return b.region.Bytes()[b.off : b.off+n] }

// ready reports whether take would succeed. It registers more pieces if none is free.
func (s *bounces) ready() bool {
	return len(s.free) > 0 || s.total < s.most && s.grow() == nil
}

// take lends a piece. take returns false if no piece is free and no more pieces can be registered.
func (s *bounces) take() (bounce, bool) {
	if !s.ready() {
		return bounce{}, false
	}
	b := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return b, true
}

// give returns a piece.
func (s *bounces) give(b bounce) { s.free = append(s.free, b) }

// expose lends a piece that peers may read, until conceal is called. expose leaves half of the
// pieces for operations. Otherwise two ranks that have exposed all their pieces to each other could
// wait forever, because each of them needs a free piece to receive in. expose returns false if no
// piece can be lent, or if access does not include AccessRemoteRead. On adapters on which the key
// of a piece lets peers write to the piece, access does not include AccessRemoteRead.
func (s *bounces) expose() (bounce, bool) {
	if s.access&verbs.AccessRemoteRead == 0 || s.exposed >= s.total/2 && (s.total >= s.most || s.grow() != nil) {
		return bounce{}, false
	}
	b, ok := s.take()
	if ok {
		s.exposed++
	}
	return b, ok
}

// conceal returns a piece that expose has lent.
func (s *bounces) conceal(b bounce) {
	s.exposed--
	s.give(b)
}

// grow registers more pieces. If the registration fails, grow is not called again.
func (s *bounces) grow() error {
	region, err := s.domain.Register(make([]byte, bouncesAtOnce*bounceBytes), s.access)
	if err != nil {
		s.most = s.total
		return fmt.Errorf("register %d pieces of %d bytes to copy through: %w", bouncesAtOnce, bounceBytes, err)
	}
	for i := range bouncesAtOnce {
		s.free = append(s.free, bounce{region, i * bounceBytes})
	}
	s.total += bouncesAtOnce
	return nil
}

// flight is a Read or Write in flight whose bytes are copied through a piece.
type flight struct {
	bounce bounce
	// at is the offset in the data of the operation at which the n bytes of the flight begin.
	at, n int
}

// copyPart takes a piece and makes it the segment to post for the first bytes of a part of an
// operation. The bytes of a Put are copied into the piece. copyPart returns the number of bytes,
// which is 0 if no piece is free.
func (o *operation) copyPart(t *Transport, part stripe.Part) int {
	b, ok := o.rail.registered.bounces.take()
	if !ok {
		return 0
	}
	n := min(part.Len, bounceBytes)
	t.segments[0] = b.region.Segment(b.off, n)
	if o.kind == operationPut {
		copy(t.segments[0].Data, o.data[part.Off:])
	}
	o.flights = append(o.flights, flight{b, part.Off, n})
	return n
}

// landed handles the completion of the oldest Read or Write that uses a piece: it copies the bytes
// of a Get out of the piece and returns the piece.
func (o *operation) landed() {
	f := o.flights[0]
	o.flights = o.flights[:copy(o.flights, o.flights[1:])]
	if o.kind == operationGet {
		copy(o.data[f.at:f.at+f.n], f.bounce.bytes(f.n))
	}
	o.rail.registered.bounces.give(f.bounce)
}

// abandon returns all pieces of an operation. The caller ensures that no adapter uses them any
// more.
func (o *operation) abandon() {
	for _, f := range o.flights {
		o.rail.registered.bounces.give(f.bounce)
	}
	o.flights = nil
}

const (
	// copyMost is the largest length in bytes that measureCopies returns. For longer memory, a
	// registration costs less than a copy, provided that the registration takes at most 50 µs.
	copyMost = 256 << 10
	// measureTries is the number of measurements of each cost, of which the minimum is used.
	measureTries = 3
)

// measureCopies measures and returns the length in bytes above which registering and
// deregistering memory costs less than copying it. The calculation assumes that the cost of a
// registration is a constant plus an amount for each page.
func measureCopies(d registrar) int {
	const short, long = 64 << 10, copyMost
	from, to := make([]byte, long), make([]byte, long)
	copy(to, from) // so that the pages are mapped
	least := func(f func() error) float64 {
		best := time.Hour
		for range measureTries {
			began := time.Now()
			if f() != nil {
				return -1
			}
			best = min(best, time.Since(began))
		}
		return float64(best)
	}
	register := func(n int) float64 {
		return least(func() error {
			m, err := d.Register(to[:n], verbs.AccessLocalWrite)
			if err != nil {
				return err
			}
			return m.Close()
		})
	}
	a, b := register(short), register(long)
	c := least(func() error { copy(to, from); return nil })
	if a < 0 || b < 0 {
		return copyMost // the memory cannot be registered
	}
	return crossing(a, b, c, short, long)
}

// crossing returns the length at which the cost of a registration is equal to the cost of a copy,
// but at most copyMost. Both costs are linear in the length. The arguments short and long are two lengths in bytes.
// registerShort and registerLong are the costs of registering memory of these lengths. whole is the
// cost of copying memory of the length long.
func crossing(registerShort, registerLong, whole float64, short, long int) int {
	slope := max((registerLong-registerShort)/float64(long-short), 0)
	constant := max(registerShort-slope*float64(short), 0)
	each := whole / float64(long)
	if each <= slope {
		return copyMost
	}
	return int(min(constant/(each-slope), copyMost))
}

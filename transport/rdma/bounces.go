package rdma

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// bounces lends registered memory through which bytes are copied, in pieces of bounceBytes.
type bounces struct {
	domain registrar
	// access are the rights of their memory. Peers are lent pieces if they may read it.
	access verbs.Access
	free   []bounce
	// total is how many pieces there are, most how many there may be: no more than there are
	// once no more could be registered.
	total, most int
	// exposed counts the pieces that peers may read until they say so.
	exposed int
}

// bounce is a piece of it.
type bounce struct {
	region *verbs.MemoryRegion
	off    int
}

const (
	// bounceBytes is the size of a piece, bouncesAtOnce how many are registered together,
	// and bouncesMost how many there may be.
	bounceBytes   = 64 << 10
	bouncesAtOnce = 8
	bouncesMost   = 64
)

// bytes returns the first n bytes of a piece.
func (b *bounce) bytes(n int) []byte { return b.region.Bytes()[b.off : b.off+n] }

// ready reports whether take succeeds.
func (s *bounces) ready() bool {
	return len(s.free) > 0 || s.total < s.most && s.grow() == nil
}

// take lends a piece if there is one.
func (s *bounces) take() (bounce, bool) {
	if !s.ready() {
		return bounce{}, false
	}
	b := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return b, true
}

// give takes a piece back.
func (s *bounces) give(b bounce) { s.free = append(s.free, b) }

// expose lends a piece for longer, and leaves half of them for operations: peers that wait for
// each other's would wait for ever. None is lent where its key would allow peers to write.
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

// conceal ends an expose.
func (s *bounces) conceal(b bounce) {
	s.exposed--
	s.give(b)
}

// grow registers more pieces, and is not called again once that fails.
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

// flight is a Read or Write of an operation that copies.
type flight struct {
	bounce bounce
	// at is where its n bytes belong in the operation's data.
	at, n int
}

// copyPart makes the beginning of a part of an operation a piece of the bounces and the segment
// to post. It returns how many bytes, 0 if no piece is free.
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

// landed takes a piece back whose Read or Write is done, the oldest one under way.
func (o *operation) landed() {
	f := o.flights[0]
	o.flights = o.flights[:copy(o.flights, o.flights[1:])]
	if o.kind == operationGet {
		copy(o.data[f.at:f.at+f.n], f.bounce.bytes(f.n))
	}
	o.rail.registered.bounces.give(f.bounce)
}

// abandon takes all pieces back, which no adapter uses any more.
func (o *operation) abandon() {
	for _, f := range o.flights {
		o.rail.registered.bounces.give(f.bounce)
	}
	o.flights = nil
}

const (
	// copyMost bounds the length from which registrations are used: beyond it they cost
	// less than copies wherever a registration costs no more than 50 µs.
	copyMost = 256 << 10
	// measureTries is how often each cost is measured: the least counts.
	measureTries = 3
)

// measureCopies returns from which length on it costs less to register memory and to
// deregister it than to copy it. The cost of a registration is a constant and a part for each
// page.
func measureCopies(d registrar) int {
	const short, long = 64 << 10, copyMost
	from, to := make([]byte, long), make([]byte, long)
	copy(to, from) // the pages are there
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
		return copyMost // it cannot be registered
	}
	return crossing(a, b, c, short, long)
}

// crossing returns the length at which the line through the costs of registering short and
// long bytes meets that of copying, of which whole is the cost of long bytes.
func crossing(registerShort, registerLong, whole float64, short, long int) int {
	slope := max((registerLong-registerShort)/float64(long-short), 0)
	constant := max(registerShort-slope*float64(short), 0)
	each := whole / float64(long)
	if each <= slope {
		return copyMost
	}
	return int(min(constant/(each-slope), copyMost))
}

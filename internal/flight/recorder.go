package flight

import (
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Recorder writes the record of one rank. Text, Place and Start may be called by any goroutine, the
// other methods by the one that holds the lock of the rank's engine.
type Recorder struct {
	page *page
	// generation, high and low are parts of words 0, 1 and 2 of the next record.
	generation, high, low uint64
	// clock is the time since born when the clock was last read, millis the same in milliseconds.
	clock  uint64
	millis uint64
	waits  int // goroutines that wait
	born   time.Time
	texts  texts
}

// New returns a Recorder that writes to memory, which is aligned to 8 bytes and all zero; nil, or less
// than Bytes, means Go's heap.
func New(memory []byte) *Recorder {
	r := &Recorder{page: pageOf(memory), born: time.Now()}
	if r.page == nil {
		r.page = new(page)
	}
	r.texts.page = &r.page.texts
	r.turn(0)
	h := &r.page.header
	atomic.StoreUint64(&h.version, version)
	atomic.StoreUint64(&h.start, uint64(r.born.UnixNano()))
	atomic.StoreUint64(&h.magic, magic)
	return r
}

// Text returns the number of a text, 0 if there is no room for another one. Up to 63 bytes of it
// are kept.
func (r *Recorder) Text(s string) uint8 { return r.texts.number(s) }

// Tick sets the clock, which is the time of what is recorded until the next Tick: to read the clock for
// every message would take longer than all else.
func (r *Recorder) Tick(now time.Time) {
	r.clock = uint64(now.Sub(r.born))
	millis := r.clock / uint64(time.Millisecond)
	if millis != r.millis {
		processor.Put64(&r.millis, millis)
		r.turn(r.page.counts.next)
	}
	processor.Put64(&r.page.header.clock, r.clock)
}

// turn sets the parts of the next record, whose number is n.
func (r *Recorder) turn(n uint64) {
	r.generation = generation(n)
	r.high = r.generation | r.millis>>16&0xffff<<highShift
	r.low = r.generation | r.millis&0xffff | short
}

// Moved records a message that was sent or received at once. op is a text, peer a world rank.
func (r *Recorder) Moved(op uint8, context uint32, peer, tag, bytes int) {
	p := r.page
	n := p.counts.next
	s := &p.messages[n%Slots]
	processor.Put64(&s[0], r.generation|uint64(uint32(peer))<<peerShift|uint64(context))
	processor.Put64(&s[1], r.high|uint64(op)<<operationShift|uint64(uint32(tag)))
	processor.Put64(&s[2], r.low|uint64(bytes)<<bytesShift)
	processor.Put64(&p.counts.bytes, p.counts.bytes+uint64(bytes))
	processor.Put64(&p.counts.next, n+1)
	if n%Slots == Slots-1 {
		r.turn(n + 1)
	}
}

// Begin records the begin of an operation on a message, and returns its number. A peer or a tag of -1 is
// any.
func (r *Recorder) Begin(op uint8, context uint32, peer, tag, bytes int) uint64 {
	p := r.page
	n := p.counts.next
	s, g := &p.messages[n%Slots], generation(n)
	processor.Put64(&s[0], g|uint64(peer)&peerNone<<peerShift|uint64(context))
	processor.Put64(&s[1], g|uint64(op)<<operationShift|r.millis>>16&0xffff<<highShift|uint64(uint32(tag)))
	processor.Put64(&s[2], g|min(uint64(bytes), bytesMost)<<bytesShift|r.millis&0xffff)
	processor.Put64(&s[3], g|uint64(Begun)<<stateShift|r.millis&timeMask)
	processor.Put64(&p.counts.next, n+1)
	if n%Slots == Slots-1 {
		r.turn(n + 1)
	}
	return n
}

// End records the end of an operation that Begin has recorded, and how many bytes it has moved.
func (r *Recorder) End(n uint64, bytes int, failed bool) {
	c := &r.page.counts
	processor.Put64(&c.bytes, c.bytes+uint64(bytes))
	if c.next-n > Slots {
		return // a later one has its slot
	}
	word := &r.page.messages[n%Slots][3]
	processor.Put64(word, generation(n)|ended(failed)|atomic.LoadUint64(word)&sitesMask|r.millis&timeMask)
}

// Waiting records that a goroutine waits for an operation that Begin has recorded, and the place of
// the call, if that is not 0.
func (r *Recorder) Waiting(n uint64, site Site) {
	if r.page.counts.next-n <= Slots {
		word := generation(n) | uint64(Waiting)<<stateShift | uint64(site)<<callerShift | r.millis&timeMask
		processor.Put64(&r.page.messages[n%Slots][3], word)
	}
}

// Wait records that a goroutine begins to wait, at the time of the last Tick.
func (r *Recorder) Wait() {
	if r.waits++; r.waits == 1 {
		processor.Put64(&r.page.counts.waiting, max(r.clock, 1))
	}
}

// Resume records that it goes on, at the time of the last Tick.
func (r *Recorder) Resume() {
	if r.waits--; r.waits > 0 {
		return
	}
	c := &r.page.counts
	if r.clock > c.waiting {
		processor.Put64(&c.waited, c.waited+r.clock-c.waiting)
	}
	processor.Put64(&c.waiting, 0)
}

// Unexpected records that bytes more, or fewer if it is negative, wait for their receives.
func (r *Recorder) Unexpected(bytes int) {
	processor.Put64(&r.page.counts.unexpected, r.page.counts.unexpected+uint64(bytes))
}

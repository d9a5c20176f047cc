package flight

import (
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Recorder writes the records of one rank. Any goroutine may call Text, Place, PlaceOf, Start, StartOf and
// Started.End. Only the goroutine that holds the lock of the rank's engine may call the other methods.
type Recorder struct {
	page *page
	// generation, high and low are parts of words 0, 1 and 2 of the next record that Moved writes.
	generation, high, low uint64
	// clock is the time between born and the last Tick, in nanoseconds. millis is the same time in
	// milliseconds.
	clock  uint64
	millis uint64
	waits  int // number of goroutines that wait
	born   time.Time
	texts  texts
}

// New returns a Recorder that writes to memory, which must be all zero. If memory is nil, shorter than Bytes
// or not aligned to 8 bytes, the Recorder allocates memory from Go's heap instead.
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

// Text returns the number of a text. If the text is not stored yet, Text stores its first 63 bytes. Text
// returns 0 if there is no room for another text.
func (r *Recorder) Text(s string) uint8 { return r.texts.number(s) }

// Tick sets the clock. All records that are written before the next Tick get this time. The clock is not read
// for every message, because reading it would take longer than the rest of recording. Tick ignores a time
// before that of the last Tick. Such a time comes from a goroutine that did not run for a while after it read
// the clock.
func (r *Recorder) Tick(now time.Time) {
	clock := uint64(max(0, now.Sub(r.born)))
	if clock < r.clock {
		return
	}
	r.clock = clock
	millis := r.clock / uint64(time.Millisecond)
	if millis != r.millis {
		processor.Put64(&r.millis, millis)
		r.turn(r.page.counts.next)
	}
	processor.Put64(&r.page.header.clock, r.clock)
}

// turn sets generation, high and low for the next record, whose number is n.
func (r *Recorder) turn(n uint64) {
	r.generation = generation(n)
	r.high = r.generation | r.millis>>16&0xffff<<highShift
	r.low = r.generation | r.millis&0xffff | short
}

// Moved records a message that was sent or received without an earlier call of Begin. op is a number from
// Text. peer is a world rank. If bytes exceeds bytesMost (512 GiB), the record may be unreadable.
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

// Begin records the beginning of an operation on a message, and returns the number of the record. A peer or a
// tag of -1 means any.
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

// End records the end of an operation that Begin has recorded. It adds the argument bytes, the number of bytes that
// the operation has sent or received, to the counter of bytes.
func (r *Recorder) End(n uint64, bytes int, failed bool) {
	c := &r.page.counts
	processor.Put64(&c.bytes, c.bytes+uint64(bytes))
	if c.next-n > Slots {
		return // a later record has taken the slot
	}
	word := &r.page.messages[n%Slots][3]
	processor.Put64(word, generation(n)|ended(failed)|atomic.LoadUint64(word)&sitesMask|r.millis&timeMask)
}

// Received sets the number of bytes in the record of a receive. Begin has recorded the length of the buffer. Only a
// receive that has taken long is worth the call.
func (r *Recorder) Received(n uint64, bytes int) {
	if r.page.counts.next-n <= Slots {
		word := &r.page.messages[n%Slots][2]
		processor.Put64(word, atomic.LoadUint64(word)&^(bytesMost<<bytesShift)|min(uint64(bytes), bytesMost)<<bytesShift)
	}
}

// Waiting records that a goroutine waits for an operation that Begin has recorded. site is the place of the
// call, or 0 if it is not recorded.
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

// Resume records that a goroutine has ended its wait, at the time of the last Tick.
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

// Unexpected adds bytes, which may be negative, to the counter of the bytes of unexpected messages.
func (r *Recorder) Unexpected(bytes int) {
	processor.Put64(&r.page.counts.unexpected, r.page.counts.unexpected+uint64(bytes))
}

package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// verdict is the result of an attempt to write a record.
type verdict uint8

const (
	written verdict = iota
	full
	damaged
)

// prefetchBytes is how far ahead of a record the writer asks for a line, which
// the reader has since the last lap. A locked instruction waits for the stores
// before it, one message at a time; the prefetch lets the lines of several
// messages travel at once.
const prefetchBytes = 8 * lineBytes

// ringWriter is the sending end of a ring: one producer, one consumer, records
// of whole cache lines, no shared tail. The reader polls the word of the next
// position, which must not look like a record before it is one. A word of an
// earlier lap does not, since its position differs; payload might, so the writer
// clears the word behind a record, before it publishes the record, where payload
// was. It does not touch that line where it need not: the reader has it, and
// taking it costs as much as the message. A record does not cross the end of the
// ring: a skip record fills what is left there.
type ringWriter struct {
	words *[ringBytes / 8]uint64
	bytes *[ringBytes]byte
	head  *uint64
	// tail is the position of the next record, limit that up to which the reader
	// is known to have made room. Positions grow for ever.
	tail, limit uint64
	// payload has a bit for every line that begins with payload.
	payload [ringLines / 64]uint64
	// fence orders the publishing before later loads.
	fence bool
	// answers is the position up to which the ring from the peer was read, nil
	// without one; answered is what it was at the last longer record.
	answers  *uint64
	answered uint64
}

func newRingWriter(s segment, head *uint64, fence bool) ringWriter {
	return ringWriter{
		words: (*[ringBytes / 8]uint64)(s.words),
		bytes: (*[ringBytes]byte)(s.bytes),
		head:  head, limit: ringBytes, fence: fence,
	}
}

// put writes a record, or nothing.
func (w *ringWriter) put(kind uint8, h transport.Header, payload []byte) verdict {
	n := uint64(len(payload))
	size := recordSize(n)
	off := w.tail & ringMask
	if w.tail+size > w.limit || off+size > ringBytes {
		if v := w.makeRoom(size); v != written {
			return v
		}
		off = w.tail & ringMask
	}
	w.clearBehind((off + size) & ringMask)
	if size > lineBytes {
		w.markPayload(off/lineBytes+1, size/lineBytes-1)
	}
	at := off / 8 & (ringMask / 8)
	line := w.words[at : at+4 : at+4]
	line[1], line[2], line[3] = h.A, h.B, h.C
	copy(w.bytes[off+recordHeader:], payload)
	w.publish(off, recordWord(kind, w.tail, n))
	w.tail += size
	if size > lineBytes {
		w.handOn(at, size)
	}
	return written
}

// handOn moves the lines of the record just published to where the reader finds
// them sooner than in this processor's cache (8 KiB: 0.2 of 2.1 us, measured).
// That takes as long as writing them, so it is done in a dialogue only, where this
// processor waits anyway: when the peer has answered since the last time.
func (w *ringWriter) handOn(at, size uint64) {
	if w.answers != nil && *w.answers != w.answered {
		w.answered = *w.answers
		processor.DemoteLines(&w.words[at], size)
	}
	if size > prefetchBytes {
		w.prefetch(size)
	}
}

// prefetch asks for the lines of the next record, if it is as long as this one:
// the reader copies meanwhile, and in a dialogue this processor waits. Else every
// one of them would be fetched between the call and the wire.
func (w *ringWriter) prefetch(size uint64) {
	off := w.tail & ringMask
	if off+size > ringBytes {
		off = 0
	}
	processor.PrefetchWriteLines(&w.words[off/8&(ringMask/8)], size)
}

// clearBehind makes sure that no payload stands where the reader looks for the
// next record.
func (w *ringWriter) clearBehind(off uint64) {
	line := off / lineBytes % ringLines
	if bits := &w.payload[line/64]; *bits&(1<<(line%64)) != 0 {
		*bits &^= 1 << (line % 64)
		w.words[line*lineBytes/8] = 0
	}
}

// markPayload notes that lines begin with payload. They do not cross the end.
func (w *ringWriter) markPayload(first, lines uint64) {
	for line := first; line < first+lines; line++ {
		w.payload[line/64%(ringLines/64)] |= 1 << (line % 64)
	}
}

func (w *ringWriter) publish(off, word uint64) {
	p := &w.words[off&ringMask/8]
	if w.fence {
		atomic.StoreUint64(p, word)
		return
	}
	processor.Store64(p, word)
	processor.PrefetchWrite(&w.words[(off+prefetchBytes)&ringMask/8])
}

// makeRoom finds room for a record of that size, and goes to the start of the
// ring when it does not fit before the end. There no payload stands: records begin there.
func (w *ringWriter) makeRoom(size uint64) verdict {
	off := w.tail & ringMask
	skip := uint64(0)
	if off+size > ringBytes {
		skip = ringBytes - off
	}
	if w.tail+skip+size > w.limit {
		head := atomic.LoadUint64(w.head)
		if head > w.tail || w.tail-head > ringBytes || head+ringBytes < w.limit {
			return damaged
		}
		w.limit = head + ringBytes
		if w.tail+skip+size > w.limit {
			return full
		}
	}
	if skip > 0 {
		w.publish(off, recordWord(kindSkip, w.tail, 0))
		w.tail += skip
	}
	return written
}

// ringReader is the receiving end of a ring.
type ringReader struct {
	words *[ringBytes / 8]uint64
	bytes *[ringBytes]byte
	head  *uint64
	// pos is the position of the next record, freed the last one told to the
	// writer.
	pos, freed uint64
}

func newRingReader(s segment, head *uint64) ringReader {
	return ringReader{
		words: (*[ringBytes / 8]uint64)(s.words),
		bytes: (*[ringBytes]byte)(s.bytes),
		head:  head,
	}
}

// poll returns the word of the next record, 0 if there is none.
func (r *ringReader) poll() uint64 {
	w := atomic.LoadUint64(&r.words[r.pos&ringMask/8])
	if awaited(w, r.pos) {
		return 0
	}
	return w
}

// record returns header and payload of the record at the current position,
// whose word is w. ok is false when the ring is damaged. The payload is valid
// until advance.
func (r *ringReader) record(w uint64) (kind uint8, h transport.Header, payload []byte, ok bool) {
	kind, n, ok := parseRecord(w, r.pos)
	off := r.pos & ringMask
	if !ok || off+recordSize(n) > ringBytes {
		return 0, h, nil, false
	}
	at := off / 8 & (ringMask / 8)
	line := r.words[at : at+4 : at+4]
	h = transport.Header{A: line[1], B: line[2], C: line[3]}
	start := off + recordHeader
	return kind, h, r.bytes[start : start+n : start+n], true
}

// advance leaves a record behind. It tells the writer every quarter of the ring
// and says so.
func (r *ringReader) advance(kind uint8, n uint64) bool {
	if kind == kindSkip {
		r.pos += ringBytes - r.pos&ringMask
	} else {
		r.pos += recordSize(n)
	}
	if r.pos-r.freed < ringBytes/4 {
		return false
	}
	r.freed = r.pos
	processor.Store64(r.head, r.pos)
	return true
}

package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// The inbox is a circular queue with many producers and one consumer. Its data consists of slots of
// one cache line. A record takes consecutive slots that do not cross the end of the data. A separate
// index has one word per slot. The index never holds payload. Suppose that a producer loads the tail
// and is then suspended for a whole lap. It then finds another lap number in the index, so its
// compare-and-swap fails.
//
// The index word:
//
//	bits 60-63  state
//	bits 48-59  slots of the record
//	bits 32-47  local rank of the producer
//	bits  0-31  lap: position / slots of the inbox
//
// A producer claims the slot at the tail by a compare-and-swap of the slot's index word. The word
// names the producer, so that the consumer can skip the claim of a dead producer. Then the producer
// moves the tail past the record. Another producer, or the consumer when it passes the claim, may
// already have moved the tail. Finally the producer writes the record and publishes the index word.
// The index word of a free slot is the lap for which the slot is free. So memory of zeros is an
// empty inbox.
const (
	slotFree      = 0
	slotClaimed   = 1
	slotPublished = 2
	slotSkip      = 3

	slotStateShift = 60
	slotLinesShift = 48
	slotLinesMask  = 1<<12 - 1
	slotRankShift  = 32
	slotRankMask   = 1<<16 - 1
	slotLapMask    = 1<<32 - 1
)

func slotWord(state, lines, rank, pos uint64) uint64 {
	return state<<slotStateShift | lines<<slotLinesShift | rank<<slotRankShift | slotLap(pos)
}

func slotLap(pos uint64) uint64 { return pos / inboxSlots & slotLapMask }

// parseSlot returns the fields of an index word. ok is false if a correct peer never writes this
// word at this position.
func parseSlot(w, pos uint64) (state, lines, rank uint64, ok bool) {
	state, lines, rank = w>>slotStateShift, w>>slotLinesShift&slotLinesMask, w>>slotRankShift&slotRankMask
	ok = w&slotLapMask == slotLap(pos) && state <= slotSkip
	if state == slotFree {
		return state, lines, rank, ok && lines == 0 && rank == 0
	}
	return state, lines, rank, ok && lines > 0 && pos&inboxMask+lines <= inboxSlots
}

// inboxEnds is the memory of an inbox, as both ends access it.
type inboxEnds struct {
	index *[inboxSlots]uint64
	data  segment
	tail  *uint64
	head  *uint64
	wait  *uint64
}

func newInboxEnds(control segment) inboxEnds {
	return inboxEnds{
		index: (*[inboxSlots]uint64)(control.at(offInboxIndex, inboxSlots*8).words),
		data:  control.at(offInboxData, inboxSlots*lineBytes),
		tail:  control.word(offInboxTail),
		head:  control.word(offInboxHead),
		wait:  control.word(offInboxWait),
	}
}

// inboxTries bounds the attempts of one put to claim a slot. An attempt fails if another producer
// claims the slot first.
const inboxTries = 1000

// inboxWriter is the end of an inbox that a producer uses.
type inboxWriter struct {
	inboxEnds
	rank  uint64
	fence bool
}

// put writes a whole record or none. In both cases it may have claimed a skip, which the reader passes
// over. put never waits for another producer. If another producer has claimed a slot and has not moved
// the tail yet, put moves the tail.
func (w *inboxWriter) put(kind uint8, h transport.Header, payload []byte) verdict {
	lines := recordSize(uint64(len(payload))) / lineBytes
	for range inboxTries {
		// The head is loaded before the tail, so that a correct tail is not less than the loaded head.
		head := atomic.LoadUint64(w.head)
		tail := atomic.LoadUint64(w.tail)
		skip := uint64(0)
		if left := inboxSlots - tail&inboxMask; lines > left {
			skip = left
		}
		if head > tail {
			return damaged
		}
		if tail+skip+lines > head+inboxSlots {
			if tail > atomic.LoadUint64(w.head)+inboxSlots {
				return damaged // a correct tail is never more than a lap ahead of a head that is loaded later
			}
			return full
		}
		claim := slotWord(slotClaimed, lines, w.rank, tail)
		if skip > 0 {
			claim = slotWord(slotSkip, skip, w.rank, tail)
		}
		switch v := w.claim(tail, claim); {
		case v == damaged:
			return damaged
		case v == written && skip == 0:
			w.fill(tail, kind, h, payload, lines)
			return written
		}
	}
	return full
}

// claim tries to claim the slot at tail: it writes the argument claim into the slot's index word if
// the slot is free. It moves the tail past the claim, even if another rank has made the claim. It
// returns full if this rank has to try again.
func (w *inboxWriter) claim(tail, claim uint64) verdict {
	slot := &w.index[tail&inboxMask]
	if atomic.CompareAndSwapUint64(slot, slotLap(tail), claim) {
		atomic.CompareAndSwapUint64(w.tail, tail, tail+claim>>slotLinesShift&slotLinesMask)
		return written
	}
	state, lines, _, ok := parseSlot(atomic.LoadUint64(slot), tail)
	switch {
	case !ok && atomic.LoadUint64(w.tail) == tail:
		return damaged
	case ok && state != slotFree:
		atomic.CompareAndSwapUint64(w.tail, tail, tail+lines)
	}
	return full
}

// fill writes the record into the claimed slots and publishes it.
func (w *inboxWriter) fill(pos uint64, kind uint8, h transport.Header, payload []byte, lines uint64) {
	off := pos & inboxMask * lineBytes
	line := w.data.words[off/8 : off/8+4]
	line[0] = recordWord(kind, pos*lineBytes, uint64(len(payload)))
	line[1], line[2], line[3] = h.A, h.B, h.C
	copy(w.data.bytes[off+recordHeader:], payload)
	slot, word := &w.index[pos&inboxMask], slotWord(slotPublished, lines, w.rank, pos)
	if w.fence {
		atomic.StoreUint64(slot, word)
		return
	}
	processor.Store64(slot, word)
}

// inboxReader is the end of an inbox that the consumer uses.
type inboxReader struct {
	inboxEnds
	// pos is the position of the next record, in slots. freed is the position up to which the index
	// was cleaned. The consumer stores freed in head, where the producers read it.
	pos, freed uint64
}

// poll returns the index word at the current position. It returns false if the slot is free.
func (r *inboxReader) poll() (uint64, bool) {
	w := atomic.LoadUint64(&r.index[r.pos&inboxMask])
	return w, w != slotLap(r.pos)
}

// record returns the record at the current position. lines is the number of slots in the claim of the
// record. ok is false if the record is damaged. The payload is valid until advance.
func (r *inboxReader) record(lines uint64) (kind uint8, h transport.Header, payload []byte, ok bool) {
	off := r.pos & inboxMask * lineBytes
	line := r.data.words[off/8 : off/8+4]
	kind, n, ok := parseRecord(line[0], r.pos*lineBytes)
	if !ok || recordSize(n) != lines*lineBytes {
		return 0, h, nil, false
	}
	h = transport.Header{A: line[1], B: line[2], C: line[3]}
	start := off + recordHeader
	return kind, h, r.data.bytes[start : start+n : start+n], true
}

// moveTail moves the tail past the claim at the current position, because the producer may have
// died, or may be stopped, before it moved the tail. The head must not overtake the tail.
func (r *inboxReader) moveTail(lines uint64) {
	atomic.CompareAndSwapUint64(r.tail, r.pos, r.pos+lines)
}

// advance moves the position forward. lines is the number of slots by which it moves. After each
// quarter of the inbox it cleans the index, stores the new head for the producers, and returns true.
func (r *inboxReader) advance(lines uint64) bool {
	r.pos += lines
	if r.pos-r.freed < inboxSlots/4 {
		return false
	}
	for pos := r.freed; pos < r.pos; pos++ {
		processor.Store64(&r.index[pos&inboxMask], slotLap(pos+inboxSlots))
	}
	r.freed = r.pos
	processor.Store64(r.head, r.pos)
	return true
}

package flight

import (
	"encoding/binary"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
)

// Site is the place of a call. The high byte is the number of the text of the program's line. The low byte is
// the number of the text of its caller's line. 0 is an unknown place.
type Site uint16

// texts manages the texts of a page. A text is written once and never replaced, because records refer to it.
type texts struct {
	page *[textsTotal][textBytes / 8]uint64
	// mu guards known and writes to page.
	mu    sync.Mutex
	known map[string]uint8 // the numbers of the texts
	// places caches the texts of the lines of program counters. An entry has the program counter in its high
	// 56 bits and the number of the text in its low 8 bits. The number is 0 if the function does not belong
	// to the program, or if there was no room for the text.
	places [1 << placesBits]uint64
	// stacks caches the Sites of stacks. An entry has 48 bits of the stack's hash, and the Site in the low 16
	// bits. 0 is an unused entry.
	stacks [1 << placesBits]uint64
}

const placesBits = 9

// number does the work of Recorder.Text.
func (t *texts) number(s string) uint8 {
	s = s[:min(len(s), textBytes-1)]
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.known[s]; ok {
		return n
	}
	n := len(t.known) + 1
	if n == textsTotal || s == "" {
		return 0
	}
	if t.known == nil {
		t.known = make(map[string]uint8)
	}
	t.known[s] = uint8(n)
	var padded [textBytes]byte
	copy(padded[:], s)
	for i := range t.page[n] {
		processor.Put64(&t.page[n][i], binary.NativeEndian.Uint64(padded[8*i:]))
	}
	return uint8(n)
}

// PlaceOf does the same as Place for the stack in a callsite.Site. It first looks up the whole stack in a
// table, because looking up each return address takes three times as long.
func (r *Recorder) PlaceOf(stack *callsite.Site) Site {
	h := hashOf(stack)
	word := &r.texts.stacks[h>>16%(1<<placesBits)]
	if found := atomic.LoadUint64(word); (found^h)>>16 == 0 && found != 0 {
		return Site(found)
	}
	site := r.Place(stack[:])
	atomic.StoreUint64(word, h&^0xffff|uint64(site))
	return site
}

// hashOf returns a hash of a stack. It multiplies each return address by an odd number, which the processor
// does in parallel, and adds the products. Of the hash, 48 bits are compared. For two different stacks, these
// bits are equal with a probability of about 2^-48.
func hashOf(s *callsite.Site) uint64 {
	h := uint64(s[0])*hashFactor + uint64(s[1])*0xbf58476d1ce4e5b9 + uint64(s[2])*0x94d049bb133111eb
	h += uint64(s[3])*0xff51afd7ed558ccd + uint64(s[4])*0xc4ceb9fe1a85ec53 + uint64(s[5])*0xd6e8feb86659fd93
	return h ^ h>>32
}

// Place returns the Site of the innermost line of the program in a stack and the next outer line of the
// program. stack has the form of a result of goruntime.Callers. Place allocates only for a program counter that is
// not in the cache.
func (r *Recorder) Place(stack []uintptr) Site {
	var site Site
	for _, pc := range stack {
		if pc == 0 {
			break
		}
		n := r.texts.place(pc)
		switch {
		case n == 0:
		case site == 0:
			site = Site(n) << 8
		default:
			return site | Site(n)
		}
	}
	return site
}

// place returns the number of the text of the line of a program counter, or 0 if the line does not belong to
// the program.
func (t *texts) place(pc uintptr) uint8 {
	word := &t.places[uint64(pc)*hashFactor>>(64-placesBits)]
	if found := atomic.LoadUint64(word); found>>8 == uint64(pc) {
		return uint8(found)
	}
	f, _ := goruntime.CallersFrames([]uintptr{pc}).Next()
	n := t.number(callsite.Program(f))
	atomic.StoreUint64(word, uint64(pc)<<8|uint64(n))
	return n
}

// hashFactor is 2^64 divided by the golden ratio. Multiplication by hashFactor spreads program counters over
// the high bits (Knuth, The Art of Computer Programming, section 6.4).
const hashFactor = 0x9e3779b97f4a7c15

package flight

import (
	"encoding/binary"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
)

// Site is the place of a call: the number of the text of the program's line in the high byte, that of
// its caller's line in the low one. 0 is an unknown place.
type Site uint16

// texts are the texts of a page. A text is written once, and never replaced, because records refer
// to it.
type texts struct {
	page *[textsTotal][textBytes / 8]uint64
	// mu guards known and the writing of the page.
	mu    sync.Mutex
	known map[string]uint8
	// places has the text of the line of a program counter: the counter in the high 56 bits, the number
	// in the low 8, 0 for a function that is not the program's.
	places [1 << placesBits]uint64
	// stacks has the Site of a stack: 48 bits of the stack's hash, then the Site; 0 for none.
	stacks [1 << placesBits]uint64
}

const placesBits = 9

// number returns the number of a text.
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

// PlaceOf is Place of the stack of a callsite.Site, by one look at a table if it is known: to look at each
// return address takes three times as long.
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

// hashOf is the sum of the products of the return addresses with odd numbers, which the processor makes
// at the same time. Of two different stacks 48 bits of it are the same once in 10^14 times.
func hashOf(s *callsite.Site) uint64 {
	h := uint64(s[0])*hashFactor + uint64(s[1])*0xbf58476d1ce4e5b9 + uint64(s[2])*0x94d049bb133111eb
	h += uint64(s[3])*0xff51afd7ed558ccd + uint64(s[4])*0xc4ceb9fe1a85ec53 + uint64(s[5])*0xd6e8feb86659fd93
	return h ^ h>>32
}

// Place returns the innermost line of the program in a stack, as of goruntime.Callers, and the next
// outer one. It allocates only for a line that it has not seen before.
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

// place is the number of the line of a program counter.
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

// hashFactor spreads program counters (Knuth, The Art of Computer Programming, 6.4: 2^64 over the
// golden ratio).
const hashFactor = 0x9e3779b97f4a7c15

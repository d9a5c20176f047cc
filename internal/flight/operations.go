package flight

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Started is an operation of a library under way. The zero Started is none.
type Started struct {
	recorder *Recorder
	number   uint64
}

// Numbers are some of an operation's kind that one goroutine at a time has taken ahead, so that it
// takes them together: an atomic addition costs a tenth of a short operation. The zero Numbers are none.
type Numbers struct{ next, end uint64 }

// numbersAhead is how many are taken together. Those that are never used leave places of older
// operations unused, so that it is a small part of Slots.
const numbersAhead = 8

// Call is what the records of many calls of an operation have in common.
type Call struct{ first, second uint64 }

// NewCall returns the Call of an operation of a library: op is a text, root a world rank or -1.
func NewCall(op uint8, context uint32, root int) Call {
	return Call{uint64(root)&peerNone<<peerShift | uint64(context), uint64(op) << operationShift}
}

// Start records the begin of a call; number is the library's of the call.
func (r *Recorder) Start(c Call, number, bytes int, site Site) Started {
	return r.start(atomic.AddUint64(&r.page.calls.next, 1)-1, c, number, bytes, site)
}

// StartOf is Start with a number of those that were taken ahead, unless others have taken as many
// since: the last record has nearly the last number, and replaces none of the last ones.
func (r *Recorder) StartOf(numbers *Numbers, c Call, number, bytes int, site Site) Started {
	if numbers.next == numbers.end || atomic.LoadUint64(&r.page.calls.next)-numbers.end > numbersAhead {
		numbers.end = atomic.AddUint64(&r.page.calls.next, numbersAhead)
		numbers.next = numbers.end - numbersAhead
	}
	n := numbers.next
	numbers.next++
	return r.start(n, c, number, bytes, site)
}

func (r *Recorder) start(n uint64, c Call, number, bytes int, site Site) Started {
	s, g := &r.page.operations[n%Slots], generation(n)
	millis := atomic.LoadUint64(&r.millis)
	processor.Put64(&s[0], g|c.first)
	processor.Put64(&s[1], g|c.second|millis>>16&0xffff<<highShift|uint64(uint32(number)))
	processor.Put64(&s[2], g|min(uint64(bytes), bytesMost)<<bytesShift|millis&0xffff)
	processor.Put64(&s[3], g|uint64(Begun)<<stateShift|uint64(site)<<callerShift|millis&timeMask)
	return Started{r, n}
}

// End records its end, unless its record has been replaced by that of a later one.
func (o Started) End(failed bool) {
	r := o.recorder
	if r == nil {
		return
	}
	word, g := &r.page.operations[o.number%Slots][3], generation(o.number)
	before := atomic.LoadUint64(word)
	if before>>generationShift == g>>generationShift {
		// If a later one comes in between, its record is of two numbers, and no reader takes it.
		processor.Put64(word, g|ended(failed)|before&sitesMask|atomic.LoadUint64(&r.millis)&timeMask)
	}
}

// ended is the state after the end of an operation, at its place in the word.
func ended(failed bool) uint64 {
	if failed {
		return uint64(Failed) << stateShift
	}
	return uint64(Done) << stateShift
}

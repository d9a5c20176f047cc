package flight

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
)

// Started identifies an operation of a library (see the package comment) that is under way. The zero Started
// identifies none.
type Started struct {
	recorder *Recorder
	number   uint64
}

// Numbers is a range of numbers for records of operations of libraries. One goroutine at a time uses it.
// StartOf takes several numbers at once, because the atomic addition that takes them costs a tenth of a short
// operation. The zero Numbers is empty.
type Numbers struct{ next, end uint64 }

// numbersAhead is the number of numbers that are taken at once. If a number is never used, Read finds no valid
// record in its slot until an operation gets the slot's next number. For this reason, numbersAhead is a small part of
// Slots.
const numbersAhead = 8

// Call holds the fields that are the same in the records of many calls of an operation.
type Call struct{ first, second uint64 }

// NewCall returns the Call of an operation of a library. op is a number from Text. root is a world rank or
// -1.
func NewCall(op uint8, context uint32, root int) Call {
	return Call{uint64(root)&peerNone<<peerShift | uint64(context), uint64(op) << operationShift}
}

// Start records the beginning of a call. number is the number that the library gives the call.
func (r *Recorder) Start(c Call, number, bytes int, site Site) Started {
	return r.start(atomic.AddUint64(&r.page.calls.next, 1)-1, c, number, bytes, site)
}

// StartOf does the same as Start, but takes the number of the record from numbers. If other goroutines have
// taken more than numbersAhead numbers since the argument numbers was filled, StartOf fills it anew. For this
// reason, a new record always has nearly the highest number, and does not replace one of the newest records.
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

// End records the end of the operation. It does nothing if the record of a later operation has replaced the
// operation's record.
func (o Started) End(failed bool) {
	r := o.recorder
	if r == nil {
		return
	}
	word, g := &r.page.operations[o.number%Slots][3], generation(o.number)
	before := atomic.LoadUint64(word)
	if before>>generationShift == g>>generationShift {
		// If a later operation takes the slot between the load and the store, the slot's words have two
		// different numbers, and readers omit the record.
		processor.Put64(word, g|ended(failed)|before&sitesMask|atomic.LoadUint64(&r.millis)&timeMask)
	}
}

// ended returns the state after the end of an operation, at its place in word 3.
func ended(failed bool) uint64 {
	if failed {
		return uint64(Failed) << stateShift
	}
	return uint64(Done) << stateShift
}

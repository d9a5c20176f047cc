package flight

import "sync/atomic"

// Started is an operation of a library under way. The zero Started is none.
type Started struct {
	recorder *Recorder
	number   uint64
}

// Start records the begin of an operation of a library: op is a text, root a world rank or -1, call
// the library's number of the call.
func (r *Recorder) Start(op uint8, context uint32, root, call, bytes int, site Site) Started {
	n := atomic.AddUint64(&r.page.calls.next, 1) - 1
	s := &r.page.operations[n%Slots]
	s.begin(generation(n), op, context, root, call, bytes, atomic.LoadUint64(&r.millis), site)
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
		atomic.CompareAndSwapUint64(word, before, g|ended(failed)|before&sitesMask|atomic.LoadUint64(&r.millis)&timeMask)
	}
}

// ended is the state after the end of an operation, at its place in the word.
func ended(failed bool) uint64 {
	if failed {
		return uint64(Failed) << stateShift
	}
	return uint64(Done) << stateShift
}

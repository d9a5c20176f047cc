package packing

import (
	"sync"

	"github.com/klauspost/compress/s2"
)

// sampleBytes is how much of a piece is tried first, while payload goes as it is: random bytes cost no
// more, and no memory.
const sampleBytes = 4 << 10

// samples has room for a compressed sample, which is at most 64 bytes longer.
var samples = sync.Pool{New: func() any { return new([sampleBytes + 64]byte) }}

// pays reports whether n bytes are enough shorter when they are packed.
func pays(n, packed int) bool { return packed <= n-n/8 }

// Promises reports whether a piece that Wants has said is to be tried is to be compressed as a whole. While
// payload goes as it is, that takes a sample from its middle that gets shorter; if it does not, there are no
// others until the next look.
func (d *Decider) Promises(piece []byte) bool {
	if d.mode != Auto || d.on {
		return true
	}
	from := max(0, (len(piece)-sampleBytes)/2)
	sample := piece[from:min(len(piece), from+sampleBytes)]
	room := samples.Get().(*[sampleBytes + 64]byte)
	good := pays(len(sample), len(s2.Encode(room[:], sample)))
	samples.Put(room)
	if !good {
		d.stop()
	}
	return good
}

package packing

import (
	"sync"

	"github.com/klauspost/compress/s2"
)

// sampleBytes is the length of a sample of a piece. While the Decider is off, the sample is compressed before
// the piece. For payload that does not become shorter, the cost is therefore only the compression of the
// sample, and no memory for the piece.
const sampleBytes = 4 << 10

// samples has buffers for compressed samples. Compression makes a sample at most 64 bytes longer.
var samples = sync.Pool{New: func() any { return new([sampleBytes + 64]byte) }}

// pays reports whether packed is at most 7/8 of n. Both are lengths in bytes.
func pays(n, packed int) bool { return packed <= n-n/8 }

// Promises reports whether the caller should compress the whole piece. Wants must have returned true for the
// piece. While the Decider is off, Promises compresses a sample from the middle of the piece. If the sample
// does not become shorter, Promises returns false, and no piece is tried until the next look.
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

package bootstrap

import (
	"encoding/binary"
	"math/bits"
)

// Forms of the encoding of a set of ranks in a frame. The encoding is 1 byte with the form, followed by the
// bytes that the comment of the form describes. The shorter one of the two forms is sent.
const (
	formRuns = 0 // varints: number of runs, then for each run the gap before it and its length - 1
	formBits = 1 // varint: number of bytes, then these bytes; bit i of the bytes stands for rank i
)

// appendRanks appends the encoding of a set of ascending ranks.
func appendRanks(b []byte, ranks []int) []byte {
	var runs []byte
	n, next := uint64(0), 0
	for i := 0; i < len(ranks); {
		end := i + 1
		for end < len(ranks) && ranks[end] == ranks[end-1]+1 {
			end++
		}
		runs = binary.AppendUvarint(runs, uint64(ranks[i]-next))
		runs = binary.AppendUvarint(runs, uint64(end-i-1))
		n, next, i = n+1, ranks[end-1]+1, end
	}
	if length := (next + 7) / 8; length < len(runs) {
		b = binary.AppendUvarint(append(b, formBits), uint64(length))
		at := len(b)
		b = append(b, make([]byte, length)...)
		for _, rank := range ranks {
			b[at+rank/8] |= 1 << (rank % 8)
		}
		return b
	}
	return append(binary.AppendUvarint(append(b, formRuns), n), runs...)
}

// reader reads the parts of the body of a frame. The first malformed part sets bad. After that, the results
// are undefined.
type reader struct {
	b    []byte
	size int // of the world
	bad  bool
}

// word reads an integer of n bytes, little endian.
func (r *reader) word(n int) (word uint64) {
	if len(r.b) < n {
		r.bad = true
		return 0
	}
	for i, b := range r.b[:n] {
		word |= uint64(b) << (8 * i)
	}
	r.b = r.b[n:]
	return word
}

// varint reads a varint. A value above the size of the world sets bad.
func (r *reader) varint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(r.size) {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// ranks reads a set of ranks.
func (r *reader) ranks() []int {
	form, n := r.word(1), r.varint()
	if r.bad {
		return nil
	}
	if form == formBits {
		return r.marked(n)
	}
	r.bad = r.bad || form != formRuns
	var ranks []int
	for next := uint64(0); n > 0 && !r.bad; n-- {
		next += r.varint()
		end := next + r.varint() + 1
		if r.bad || end > uint64(r.size) {
			r.bad = true
			break
		}
		for ; next < end; next++ {
			ranks = append(ranks, int(next))
		}
	}
	return ranks
}

// marked reads the n bytes of a set in the encoding formBits.
func (r *reader) marked(n uint64) []int {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	var ranks []int
	for i, set := range r.b[:n] {
		for ; set != 0; set &= set - 1 {
			ranks = append(ranks, 8*i+bits.TrailingZeros8(set))
		}
	}
	r.b = r.b[n:]
	if len(ranks) > 0 && ranks[len(ranks)-1] >= r.size {
		r.bad = true
	}
	return ranks
}

package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ragged is the caller's description of a buffer with a block for each rank or, in an operation between
// neighbors, for each neighbor. Block i is buf[displs[i]:][:counts[i]]. If displs is nil, block i begins where
// block i-1 ends.
type ragged struct {
	name           string
	bytes          []byte
	length, elem   int // length of the buffer in elements, size of an element in bytes
	counts, displs []int
}

func raggedOf[T any](name string, buf []T, counts, displs []int) ragged {
	return ragged{name, kernel.Bytes(buf), len(buf), kernel.SizeOf[T](), counts, displs}
}

// check checks that the number of blocks is size, and that all blocks are valid. If not, it returns an error.
func (b *ragged) check(size int) error {
	if len(b.counts) != size {
		return fmt.Errorf("%w: %s has %d counts, not %d", ErrLength, b.name, len(b.counts), size)
	}
	if b.displs != nil && len(b.displs) != size {
		return fmt.Errorf("%w: %s has %d displacements, not %d", ErrLength, b.name, len(b.displs), size)
	}
	end := 0
	for i, n := range b.counts {
		from := end
		if b.displs != nil {
			from = b.displs[i]
		}
		switch {
		case n < 0:
			return fmt.Errorf("%w: count %d of %s is %d", ErrLength, i, b.name, n)
		case n > 0 && from < 0:
			return fmt.Errorf("%w: displacement %d of %s is %d", ErrLength, i, b.name, from)
		case n > 0 && (n > b.length || from > b.length-n): // from+n may overflow
			return fmt.Errorf("%w: %s holds %d elements, but its block %d begins at element %d and has count %d", ErrLength, b.name, b.length, i, from, n)
		}
		end = from + n
	}
	return nil
}

// checkDisjoint returns an error if two blocks share elements. parts is the result of b.parts.
func (b *ragged) checkDisjoint(parts message.Parts) error {
	if b.displs == nil {
		return nil
	}
	if i, j, found := parts.Shared(); found {
		return fmt.Errorf("%w: blocks %d and %d of %s", runtime.ErrAlias, i, j, b.name)
	}
	return nil
}

// parts returns the blocks in the form that the algorithms use. check must have accepted the buffer.
func (b *ragged) parts() message.Parts {
	return message.Uneven(b.counts, b.displs, b.elem)
}

// checkOwn checks this rank's block of b against buf. This rank copies the block to or from buf, which
// has n elements. buf must have the length of the block. buf may be the block itself, but must not
// overlap b in any other way. parts is the result of b.parts; name is the name of buf in errors.
func (b *ragged) checkOwn(parts message.Parts, name string, buf []byte, n, rank int) error {
	if n != b.counts[rank] {
		return fmt.Errorf("%w: %s holds %d elements, but count %d of %s is %d", ErrLength, name, n, rank, b.name, b.counts[rank])
	}
	if same, _ := kernel.Overlap(buf, parts.Of(b.bytes, rank)); same {
		return nil
	}
	return disjoint(buf, b.bytes)
}

// checksumBits is the length of a checksum in bits.
const checksumBits = 40

// checksum returns a 40-bit checksum of the counts. Two members whose counts differ get the same
// checksum with a probability of 2^-40. The method is that of FNV-1a (xor, then
// multiply), but with words of 64 bits instead of bytes, another factor, and a shift after each word.
func (b *ragged) checksum() uint64 {
	const factor = 0x9e3779b97f4a7c15
	sum := uint64(len(b.counts)+1) * factor
	for _, n := range b.counts {
		sum = (sum ^ uint64(n)) * factor
		sum ^= sum >> 32
	}
	return sum >> (64 - checksumBits)
}

// total returns the number of elements of all blocks.
func (b *ragged) total() int {
	total := 0
	for _, n := range b.counts {
		total += n
	}
	return total
}

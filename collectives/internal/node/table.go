package node

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// The slot of an operation whose members do not all know the lengths of its blocks begins with a
// table. Short blocks follow it, long ones travel otherwise: by segments or by messages.
//
//	offset 0     length of the longest block that is not in the slot
//	offset 8+8q  the block for member q: its length in bits 63:16, in bits 15:0 its place in
//	             the slot, 0 if it is not there
const (
	placeBits = 16
	placeMask = 1<<placeBits - 1
)

// TableMax is the largest group in which a slot has room for the table of a member, and for as
// many bytes of blocks.
const TableMax = 64

// entry describes a block in a slot.
type entry uint64

func (e entry) length() int { return int(e >> placeBits) }

// inSlot reports whether the block follows the table.
func (e entry) inSlot() bool { return e&placeMask != 0 }

// entry returns that for member q.
func (s *slot) entry(q int) entry { return entry(*uint64At(s.all, 8+8*q)) }

// expect refuses an entry of another length than n.
func (e entry) expect(from, n int) error {
	if e.length() != n {
		return fmt.Errorf("%w: rank %d sent %d bytes, not %d", message.ErrLength, from, e.length(), n)
	}
	return nil
}

// take copies the block of an entry, which expects as many bytes, to dst.
func (s *slot) take(e entry, dst []byte) error {
	at := int(e & placeMask)
	if at+len(dst) > len(s.all) {
		return fmt.Errorf("%w: a block of %d bytes at %d of a slot", ErrDamaged, len(dst), at)
	}
	copy(dst, s.all[at:])
	return nil
}

// list writes the table of the parts of send for the other members, of which there are size, and
// as many of them as there is room for.
func (s *slot) list(send []byte, parts message.Parts, rank, size int) {
	at, longest := 8+8*size, 0
	for q := range size {
		if q == rank {
			continue
		}
		block := parts.Of(send, q)
		e := entry(len(block)) << placeBits
		if at+len(block) <= len(s.all) {
			e |= entry(at)
			at += copy(s.all[at:], block)
		} else {
			longest = max(longest, len(block))
		}
		*uint64At(s.all, 8+8*q) = uint64(e)
	}
	*uint64At(s.all, 0) = uint64(longest)
}

// longest returns the length of the longest block that is not in the slot.
func (s *slot) longest() int { return int(*uint64At(s.all, 0)) }
